# SPDX-License-Identifier: MIT
# fish completion for mstop.

complete -c mstop -a '(msrec status 2>/dev/null | string replace -r " " \t)' -d 'Recorded process'
complete -c mstop -s d -l delay -x -a '0.5 1 5' -d 'Seconds between refreshes'
complete -c mstop -s w -l window -x -a '10 60' -d 'Seconds that growth is about'
complete -c mstop -s s -l sort -x -a 'live growth calls-rate bytes-rate blocks calls' -d 'Order of rows'
complete -c mstop -s t -l threads -d 'Show threads'
complete -c mstop -l once -d 'Print the present state'
complete -c mstop -l json -d 'Print the present state as JSON'
complete -c mstop -l top -x -d 'Rows of each table'
complete -c mstop -l symbols -x -a '(__fish_complete_directories)' -d 'Folder of programs and debug files'
complete -c mstop -s q -l quiet -d 'No notices'
complete -c mstop -l help -d 'List the options'
complete -c mstop -l usage -d 'List the options briefly'
complete -c mstop -s V -l version -d 'Print the version'
