# Completion for fish: copy it to ~/.config/fish/completions. It asks the binary's own --help.
function __sluice_words
    set -l words (commandline -opc)
    set -l help (command $words[1..(math "min(2, $(count $words))")] --help 2>/dev/null)
    string match -rg '^  +(?:-[a-zA-Z],)?(--[a-z-]+)' -- $help
    if test (count $words) -eq 1
        string match -rg '^  ([a-z]+) ' -- $help
    end
end
complete -c sluice -a '(__sluice_words)'
