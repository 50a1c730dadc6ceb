# bash completion for sluice. Written by tools/make_completions.
_sluice() {
  local command= word words=
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in check|explain|get|key|load|reset|serve|validate) command+="${command:+ }$word" ;; esac
  done
  case $command in
    "") words="serve check key load validate explain -h --help --version" ;;
    "serve") words="-h --help --config --listen --admin-address --admin --admin-token-file --store-url --store --rules --merge-domains --workers --drain-timeout --table-keys-max --table-when-full --limits-connections-max --limits-header-bytes-max --limits-headers-max --limits-body-bytes-max --limits-descriptors-max --limits-value-bytes-max --limits-request-timeout --limits-idle-timeout --metrics-detailed-series-max --log-level --log-format" ;;
    "check") words="-h --help --domain --hits --server --peek --json" ;;
    "key") words="get reset -h --help" ;;
    "key get") words="-h --help --domain --server --json" ;;
    "key reset") words="-h --help --domain --server --json" ;;
    "load") words="-h --help --url -X --method -H --header -b --body --body-file --seed -n --requests -d --duration -c --connections -p --pipeline -r --rate --timeout --expect-status --expect-header --count-header --threshold --json -q --quiet" ;;
    "validate") words="-h --help --strict" ;;
    "explain") words="-h --help --rules --domain" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _sluice sluice
