/* SPDX-License-Identifier: MIT */
/* Patterns of fnmatch(3). HIDE_FUNCTION: of functions; HIDE_MODULE: of the last parts of the paths of libraries. */
/* clang-format off */

/* Allocators and their wrappers */
HIDE_FUNCTION("*malloc*")
HIDE_FUNCTION("*Malloc*")
HIDE_FUNCTION("*calloc*")
HIDE_FUNCTION("*Calloc*")
HIDE_FUNCTION("*realloc*")
HIDE_FUNCTION("*Realloc*")
HIDE_FUNCTION("*alloc")
HIDE_FUNCTION("*Alloc")
HIDE_FUNCTION("*alloc(*")
HIDE_FUNCTION("*Alloc(*")
HIDE_FUNCTION("*memalign")
HIDE_FUNCTION("*aligned_alloc")
HIDE_FUNCTION("*strdup")
HIDE_FUNCTION("*strndup")
HIDE_FUNCTION("*Strdup")
HIDE_FUNCTION("*Strndup")
HIDE_FUNCTION("*StrDup")
HIDE_FUNCTION("*StrNDup")
HIDE_FUNCTION("*memdup")
HIDE_FUNCTION("*asprintf")
HIDE_FUNCTION("operator new*")
HIDE_FUNCTION("*::operator new*")

/* The C++ library; its namespaces are in sites.c */
HIDE_FUNCTION("boost::container::*")
HIDE_MODULE("libstdc++.so*")
HIDE_MODULE("libc++.so*")
HIDE_MODULE("libc++abi.so*")

/* Containers and slabs of LLVM */
HIDE_FUNCTION("llvm::allocate_buffer*")
HIDE_FUNCTION("llvm::BumpPtrAllocator*")
HIDE_FUNCTION("llvm::SpecificBumpPtrAllocator*")
HIDE_FUNCTION("llvm::SmallVector*")
HIDE_FUNCTION("llvm::DenseMap*")
HIDE_FUNCTION("llvm::SmallDenseMap*")
HIDE_FUNCTION("llvm::StringMap*")
HIDE_FUNCTION("llvm::FoldingSet*")

/* Rust */
HIDE_FUNCTION("alloc::*")
HIDE_FUNCTION("<alloc::*")
HIDE_FUNCTION("<&alloc::*")
HIDE_FUNCTION("core::*")
HIDE_FUNCTION("<core::*")
HIDE_FUNCTION("hashbrown::*")
HIDE_FUNCTION("<hashbrown::*")
/* Methods of any type and of built-in ones: coherence leaves these to the library whose trait it is. */
HIDE_FUNCTION("<[A-Z] as alloc::*")
HIDE_FUNCTION("<[A-Z] as core::*")
HIDE_FUNCTION("<&[A-Z] as core::*")
HIDE_FUNCTION("<&mut [A-Z] as core::*")
HIDE_FUNCTION("<str as alloc::*")
HIDE_FUNCTION("<str as core::*")
HIDE_FUNCTION("<[iuf][0-9]* as core::*")
HIDE_FUNCTION("<[iu]size as core::*")
HIDE_FUNCTION("__rust_alloc*")
HIDE_FUNCTION("__rust_realloc*")
HIDE_FUNCTION("__rg_*")
HIDE_FUNCTION("__rdl_*")

/* HotSpot, the Java virtual machine */
HIDE_FUNCTION("AllocateHeap*")
HIDE_FUNCTION("ReallocateHeap*")
HIDE_FUNCTION("os::strdup*")
HIDE_FUNCTION("ChunkPool::allocate*")
HIDE_FUNCTION("Arena::Arena*")
HIDE_FUNCTION("Arena::grow*")
HIDE_FUNCTION("resource_allocate_bytes*")
HIDE_FUNCTION("GrowableArray*::grow*")

/* V8 and Node.js */
HIDE_FUNCTION("v8::internal::AllocWithRetry*")
HIDE_FUNCTION("v8::internal::AlignedAllocWithRetry*")
HIDE_FUNCTION("v8::internal::BackingStore::Allocate*")
HIDE_FUNCTION("v8::internal::Heap::AllocateExternalBackingStore*")
HIDE_FUNCTION("v8::ArrayBuffer::NewBackingStore*")
HIDE_FUNCTION("node::NodeArrayBufferAllocator::Allocate*")

/* Containers of Qt */
HIDE_FUNCTION("QArrayData::*")
HIDE_FUNCTION("QListData::*")
HIDE_FUNCTION("QHashData::*")
HIDE_FUNCTION("QMapDataBase::*")
HIDE_FUNCTION("QVector<*")
HIDE_FUNCTION("QList<*")
HIDE_FUNCTION("QHash<*")
HIDE_FUNCTION("QMap<*")

/* CPython's objects */
HIDE_FUNCTION("PyType_GenericAlloc")
HIDE_FUNCTION("_PyType_AllocNoTrack")
HIDE_FUNCTION("_PyObject_GC_New*")
HIDE_FUNCTION("_PyObject_New*")

/* PostgreSQL's memory contexts */
HIDE_FUNCTION("palloc*")
HIDE_FUNCTION("MemoryContextAlloc*")
HIDE_FUNCTION("AllocSetAlloc*")
HIDE_FUNCTION("AllocSetContextCreate*")
HIDE_FUNCTION("GenerationContextCreate*")
HIDE_FUNCTION("SlabContextCreate*")

/* GLib */
HIDE_FUNCTION("g_malloc*")
HIDE_FUNCTION("g_try_malloc*")
HIDE_FUNCTION("g_realloc*")
HIDE_FUNCTION("g_try_realloc*")
HIDE_FUNCTION("g_slice_*")
HIDE_FUNCTION("g_strdup*")
HIDE_FUNCTION("g_strndup")
HIDE_FUNCTION("g_strconcat")
HIDE_FUNCTION("g_memdup*")

/* The C library and the dynamic loader */
HIDE_MODULE("libc.so*")
HIDE_MODULE("libc-2.*")
HIDE_MODULE("ld-linux*")
HIDE_MODULE("ld-2.*")
HIDE_MODULE("ld-musl*")
