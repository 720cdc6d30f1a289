# SPDX-License-Identifier: MIT
# fish completion for msusage: its options, then a command line of its own.

# Options whose value may be the next word.
set -g __msusage_valued -n --progname -d --data -p --png --svg --title -x --x-size -y --y-size --color -b --buffer

# True until the program has been named.
function __msusage_has_no_program
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        if contains -- $words[1] $__msusage_valued
            set -e words[1]
        else if test "$words[1]" = --; or not string match -qr -- '^-.' $words[1]
            return 1
        end
        set -e words[1]
    end
end

complete -c msusage -x -a '(__fish_complete_subcommand -- $__msusage_valued)'

set -l own -c msusage -n __msusage_has_no_program
complete $own -s n -l progname -x -d 'Report only on processes of that name'
complete $own -l keep -F -d 'Keep the traces'
complete $own -s d -l data -r -F -d "Write memusage's data file"
complete $own -s p -l png -r -F -d "Draw memusagestat's picture"
complete $own -l svg -r -F -d "Draw memusagestat's picture as SVG"
complete $own -s t -l time-based -d 'Pictures over time'
complete $own -s T -l total -d 'Also draw the sum of heap and stack'
complete $own -l title -x -d 'Title of the pictures'
complete $own -s x -l x-size -x -d 'Width of the pictures'
complete $own -s y -l y-size -x -d 'Height of the pictures'
complete $own -l full -d 'Also report what memusage leaves out'
complete $own -l color -x -a 'auto always never' -d 'Colours in the report'
complete $own -s m -l mmap -f -a 'yes no memusage' -d 'Count mmap and its like'
complete $own -s u -l unbuffered -d 'No effect'
complete $own -s b -l buffer -x -d 'No effect'
complete $own -l no-timer -d 'No effect'
complete $own -l help -d 'List the options'
complete $own -l usage -d 'List the options briefly'
complete $own -s V -l version -d 'Print the version'
