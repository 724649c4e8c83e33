#!/usr/bin/env bash
# The dump of every golden trace, whole or broken, is that of the second reader.
for trace in tests/golden/*/*.bst; do
	boundshim info --dump "$trace" 2>/dev/null | cmp - <(scripts/bstdump "$trace") ||
		echo "$trace differs"
done
echo compared
