/* Functions that open libraries. A program that uses them also contains the replacements of C library functions for
   libraries (see build.rs). The functions jump to the loader, which identifies the caller by the return address. */
#define JUMP(name)                                                                                                     \
    __asm__(".pushsection .text\n.weak " #name "\n.type " #name ", @function\n" #name ": jmp mcpsim_" #name "@PLT\n"   \
            ".size " #name ", . - " #name "\n.reloc " #name ", R_X86_64_NONE, mcpsim_own\n.popsection")

JUMP(dlopen);
JUMP(dlmopen);
JUMP(dlsym);
JUMP(dlvsym);
