# SPDX-License-Identifier: MIT
# fish completion for ms_print.

complete -c ms_print -l threshold -x -d 'Sum up smaller places'
complete -c ms_print -l x -x -d 'Columns of the graph'
complete -c ms_print -l y -x -d 'Rows of the graph'
complete -c ms_print -s h -l help -d 'Show a summary of the options'
complete -c ms_print -l version -d 'Print the version'
