/* SPDX-License-Identifier: MIT */
/*
 * Names of functions and modules without what changes from build to build. They are made in place, and never longer
 * than before.
 */
#ifndef ANALYZE_LABEL_TEXT_H
#define ANALYZE_LABEL_TEXT_H

/*
 * Drops what compilers and linkers add: suffixes of clones (".isra.0", ".part.0", ".cold", " [clone .constprop.0]"), hashes of Rust
 * ("::h0123456789abcdef"), tags of the ABI ("[abi:cxx11]"), versions of symbols ("@@GLIBC_2.34") and glibc's prefix of its
 * own calls ("__GI___").
 */
void label_text_trim(char *function);

/* Drops also parameters, template arguments and the result's type: "void ns::f<int>(char*) const" is "ns::f". */
void label_text_loosen(char *function);

/* "libfoo-1.2.so.3.4" is "libfoo.so". */
void label_text_module(char *module);

#endif
