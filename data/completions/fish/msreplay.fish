# SPDX-License-Identifier: MIT
# fish completion for msreplay and msconvert, which share most options.

for tool in msreplay msconvert
    complete -c $tool -l heap -f -a 'yes no' -d 'Count heap blocks'
    complete -c $tool -l pages-as-heap -f -a 'yes no' -d 'Count mapped pages instead of blocks'
    complete -c $tool -l pages -f -a 'yes no' -d 'The same as --pages-as-heap'
    complete -c $tool -l heap-admin -x -d 'Bytes of administration a block'
    complete -c $tool -l alignment -x -a '16 32 64 128 256 512 1024 2048 4096' -d 'Round blocks up to'
    complete -c $tool -l usable -f -a 'rounded valgrind real requested yes no' -d 'What a block takes'
    complete -c $tool -l compat -x -a 'fixed 3.19 3.24 3.27 latest' -d 'What Massif gets wrong'
    complete -c $tool -l stacks -f -a 'yes no' -d 'Count stacks'
    complete -c $tool -l time-unit -x -a 'i\tinstructions ms\tmilliseconds B\t"bytes allocated and freed"' -d 'Clock'
    complete -c $tool -l max-snapshots -x -d 'Keep at most'
    complete -c $tool -l detailed-freq -x -d 'Every Nth snapshot gets a tree'
    complete -c $tool -l peak-inaccuracy -x -d 'A new peak must be so many percent above the last one'
    complete -c $tool -l exact-peak -f -a 'yes no' -d 'The peak is the largest total there was'
    complete -c $tool -l threshold -x -d 'Sum up smaller places'
    complete -c $tool -l depth -x -d 'Frames kept of each stack'
    complete -c $tool -l alloc-fn -x -d 'Treat the function as an allocator'
    complete -c $tool -l ignore-fn -x -d 'Leave out what the function allocates'
    complete -c $tool -l show-below-main -f -a 'yes no' -d 'Show the callers of main'
    complete -c $tool -l fullpath-after -x -d 'Show source directories behind the text'
    complete -c $tool -l massif-out-file -r -F -d 'Name of the result'
    complete -c $tool -l at -x -a 'peak end' -d 'Also write the tree as it was at'
    complete -c $tool -l detailed-snapshot -x -a 'peak end' -d 'The same as --at'
    complete -c $tool -l snapshot -x -a 'peak end' -d 'Also write the totals as they were at'
    complete -c $tool -l all-snapshots -x -a end -d 'Also write what the result would have been at'
    complete -c $tool -l only-moments -f -a 'yes no' -d 'Write what requests ask for, not the result'
    complete -c $tool -l also -x -d 'Options of another result of the same pass'
    complete -c $tool -l xtree-memory -x -a 'none allocs full' -d 'Also write a report by stack'
    complete -c $tool -l xtree-memory-file -r -F -d 'Name of that report'
    complete -c $tool -l xtree-compress-strings -f -a 'yes no' -d 'Spell each name out only once'
    complete -c $tool -s j -l jobs -x -d 'Threads that decode'
    complete -c $tool -l symbols -x -a '(__fish_complete_directories)' -d 'Look for recorded files below the directory'
    complete -c $tool -l stats -f -a 'yes no' -d 'Say how many calls, snapshots and culls there were'
    complete -c $tool -s q -l quiet -d 'No notices, no progress'
    complete -c $tool -s v -l verbose -d 'Say more about the trace'
    complete -c $tool -l help -d 'List the options'
    complete -c $tool -l usage -d 'List the options briefly'
    complete -c $tool -s V -l version -d 'Print the version'
    complete -c $tool -s o -l output -r -F -d 'Name of the output'
end

complete -c msreplay -l memusage -f -a full -d "Print memusage's report instead"
complete -c msreplay -l color -x -a 'auto always never' -d 'Colours for --memusage'
complete -c msreplay -s m -l mmap -f -a 'yes no memusage' -d 'Count mmap and its like'
complete -c msreplay -s d -l data -r -F -d "Write memusage's data file"
complete -c msreplay -s p -l png -r -F -d "Draw memusagestat's picture"
complete -c msreplay -l svg -r -F -d "Draw memusagestat's picture as SVG"
complete -c msreplay -s t -l time-based -d 'Pictures over time'
complete -c msreplay -s T -l total -d 'Also draw the sum of heap and stack'
complete -c msreplay -l title -x -d 'Title of the pictures'
complete -c msreplay -s x -l x-size -x -d 'Width of the pictures'
complete -c msreplay -s y -l y-size -x -d 'Height of the pictures'

# The names of --to=help or --from=help, with their last columns.
function __msconvert_formats
    msconvert $argv[1] 2>/dev/null | string replace -r '^(\S+) +(\.\S+ +)?' '$1\t'
end

set -l parts identity time threads instructions names usable stacks mappings pages free-stacks rss marks
complete -c msconvert -l to -x -a 'help (__msconvert_formats --to=help)' -d 'Format to write'
complete -c msconvert -l from -x -a 'help fork (__msconvert_formats --from=help)' -d 'Format of the input'
complete -c msconvert -l label -x -d 'What the run of a summary or profile is'
complete -c msconvert -l schema -d 'Print the tables for summaries'
complete -c msconvert -l tick-rate -x -d "Ticks a second of the input's clock"
complete -c msconvert -l embed-symbols -d 'Write a trace with the names of its frames'
complete -c msconvert -s z -l level -x -a '(seq 19)' -d 'Write a trace, compressed better'
complete -c msconvert -l drop -x -a "(__fish_append , $parts)" -d 'Write a trace without these'
complete -c msconvert -l no-args -d 'Write a trace without arguments'
complete -c msconvert -l strip-paths -d 'Write a trace in which files have no directories'
complete -c msconvert -l anonymize -d 'Names become hashes'
complete -c msconvert -l value -x -a 'inuse_bytes inuse_objects alloc_bytes alloc_objects' -d 'What a profile shows'
complete -c msconvert -l diff-base -r -F -d 'What changed from an older recording'
complete -c msconvert -l alloc-from -x -d 'Count as allocated what was from then on'
complete -c msconvert -l merge-threads -d 'Do not keep threads apart'
complete -c msconvert -l until -x -d 'Leave out what happened later'
complete -c msconvert -l thread -x -d 'Only what this thread allocated'
complete -c msconvert -l module -r -F -d 'Only stacks with code in such a module'
complete -c msconvert -l function -x -d 'Only stacks with such a function'
complete -c msconvert -l size -x -d 'Only blocks of so many bytes'
complete -c msconvert -l lifetime -x -d 'Only blocks that lived so long'
