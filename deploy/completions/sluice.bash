# Completion for bash: `source` it, or put it into /usr/share/bash-completion/completions/sluice. It
# asks the binary's own --help, so it never lags behind. zsh reads it too, after
# `autoload -U +X bashcompinit && bashcompinit`.
_sluice() {
  local word=${COMP_WORDS[COMP_CWORD]} words='' depth
  local command=()
  for ((depth = 1; depth < COMP_CWORD; ++depth)); do
    [[ ${COMP_WORDS[depth]} != -* ]] || break
    command+=("${COMP_WORDS[depth]}")
  done
  # Files and values are arguments, not commands: with them --help would mean something else.
  local help
  help=$("${COMP_WORDS[0]}" "${command[@]:0:2}" --help 2>/dev/null) ||
    help=$("${COMP_WORDS[0]}" "${command[@]:0:1}" --help 2>/dev/null) || return 0
  if [[ $word == -* ]]; then
    words=$(grep -oE -- '^  +(-[a-zA-Z],)?--[a-z-]+' <<<"$help" | grep -oE -- '--[a-z-]+' | sort -u)
  else
    words=$(sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p' <<<"$help")
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _sluice sluice
