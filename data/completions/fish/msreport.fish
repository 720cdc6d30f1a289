# SPDX-License-Identifier: MIT
# fish completion for msreport.

set -l sections overview peak leaks growth steps churn sizes threads libraries functions lines errors rss
complete -c msreport -a "$sections" -d Section
complete -c msreport -l at -x -a 'peak end' -d 'The moment of peak'
complete -c msreport -l from -x -d 'growth: allocated after'
complete -c msreport -l until -x -d 'growth: live at'
complete -c msreport -l by -x -a 'site stack function library thread size type' -d 'Sum up by'
complete -c msreport -l top -x -d 'Rows of each table'
complete -c msreport -l stack -x -d 'One stack, by its id'
complete -c msreport -l suppressions -r -F -d 'Known leaks'
complete -c msreport -l no-suppressions -d 'Show the usual leaks of the C library'
complete -c msreport -l temporary -x -d 'Allocations before the free of a temporary block'
complete -c msreport -l threshold -x -d 'Least share in the tree'
complete -c msreport -l alloc-fn -x -d 'A function that is an allocator'
complete -c msreport -l hide -x -d 'Functions that are no sites'
complete -c msreport -l all-frames -d 'The innermost function is the site'
complete -c msreport -l format -x -a 'text json markdown csv' -d 'Format of the answer'
complete -c msreport -s o -l output -r -F -d 'Write the answer to a file'
complete -c msreport -l si -d 'Units of 1000'
complete -c msreport -s j -l jobs -x -d 'Threads that decode'
complete -c msreport -l symbols -x -a '(__fish_complete_directories)' -d 'Folder of programs and debug files'
complete -c msreport -s q -l quiet -d 'No notices'
complete -c msreport -s v -l verbose -d 'Say more about the trace'
complete -c msreport -l help -d 'List the options'
complete -c msreport -l usage -d 'List the options briefly'
complete -c msreport -s V -l version -d 'Print the version'
