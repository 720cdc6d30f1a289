# SPDX-License-Identifier: MIT
# fish completion for msrec: its options, then a command line of its own.

# Options whose value may be the next word.
set -g __msrec_valued -o --output -z --level --engine --depth --timer --instructions --sample --max-size --duration --mark --push --every --check --check-output --check-format

# True until the program has been named.
function __msrec_has_no_program
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        if contains -- $words[1] $__msrec_valued
            set -e words[1]
        else if test "$words[1]" = --; or not string match -qr -- '^-.' $words[1]
            return 1
        end
        set -e words[1]
    end
end

# Commands for running recordings come first.
set -g __msrec_requests mark on off snapshot rotate stop status

function __msrec_has_request
    set -l words (commandline -opc)
    test (count $words) -eq 2; and contains -- $words[2] $__msrec_requests
end

complete -c msrec -n 'test (count (commandline -opc)) -eq 1' -f -a "$__msrec_requests" -d 'A running recording'
complete -c msrec -n __msrec_has_request -x -a '(__fish_complete_pids)' -d Process

complete -c msrec -x -a '(__fish_complete_subcommand -- $__msrec_valued)'

set -l own -c msrec -n __msrec_has_no_program
complete $own -s o -l output -r -F -d 'Name of the trace (%p %e %n %q{VAR} %%)'
complete $own -s f -l force -d 'Overwrite an existing trace'
complete $own -s z -l level -x -a '(seq 19)' -d 'zstd level'
complete $own -l embed-symbols -d 'Put the names of all frames into the trace'
complete $own -l max-size -x -a '100m 1g 10g' -d 'End the recording before a file is larger'
complete $own -l rotate -f -d 'Go on in another file; keep the last N'
complete $own -l mark -x -d 'Mark a time since the start, TIME:NAME'
complete $own -l push -x -d 'Give a command a profile again and again'
complete $own -l every -x -a '10s 60s 5m 1h' -d 'The time between two profiles'
complete $own -l duration -x -d 'End the recording after so many seconds'
complete $own -s p -l pid -x -a '(__fish_complete_pids)' -d 'Attach to a process that runs'
complete $own -l dormant -d 'Record nothing until msrec on PID'
complete $own -l no-args -d 'Keep arguments out of the traces'
complete $own -l engine -x -a 'preload valgrind' -d 'Record by a library, or exactly by a tool for Valgrind'
complete $own -l depth -x -d 'Frames kept of each stack'
complete $own -l timer -x -a 'off 1 10 100' -d 'Look at stacks after each so many ms'
complete $own -l instructions -x -a 'auto pmu exact off' -d 'Record how many instructions were executed'
complete $own -l sample -x -a 'off 4k 64k 512k 1m' -d 'Record one block in so many bytes'
complete $own -l trace-children -f -a 'yes no' -d 'Record executed programs too'
complete $own -l trace-children-skip -x -d 'Executed programs that are not recorded'
complete $own -l trace-children-only -x -d 'The only executed programs that are recorded'
complete $own -l identity -f -a 'yes no' -d 'Record which block of its kind a free frees'
complete $own -l free-stacks -f -a 'yes no' -d 'Record the stacks of frees too'
complete $own -l usable -f -a 'yes no' -d 'Record how much the allocator gives too'
complete $own -l mmap -f -a 'yes no' -d 'Record mmap, mremap and munmap'
complete $own -l pages -f -a 'yes no' -d 'Record all calls that map and unmap pages'
complete $own -l stacks -f -a 'yes no' -d 'Record how deep stacks are'
complete $own -l python -f -a 'yes no' -d 'Show functions and lines of Python'
complete $own -l rss -f -a 'yes no' -d 'Record how much memory the process has'
complete $own -l run-libc-freeres -f -a 'yes no' -d 'Let libc free its own blocks at exit'
complete $own -l run-cxx-freeres -f -a 'yes no' -d 'Let libstdc++ free its own blocks at exit'
complete $own -l check -r -F -d 'Check the traces at the end against a file or limit'
complete $own -l update -d 'Write the file of --check'
complete $own -l check-output -r -F -d 'Name of the report'
complete $own -l check-format -x -a 'text json markdown csv junit github' -d 'Form of the report'
complete $own -l drop-passed -f -a 'yes no' -d 'Remove the traces of a run that is fine'
complete $own -s q -l quiet -d 'Only errors'
complete $own -s v -l verbose -d 'Say more'
complete $own -l help -d 'List the options'
complete $own -l usage -d 'List the options briefly'
complete $own -s V -l version -d 'Print the version'
