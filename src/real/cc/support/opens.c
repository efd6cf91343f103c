/* Opening libraries. A program that can do so also has what the loader gives to libraries in place of the C library's
   functions (see build.rs). These jump: the loader looks at who has called. */
#define JUMP(name)                                                                                                     \
    __asm__(".pushsection .text\n.weak " #name "\n.type " #name ", @function\n" #name ": jmp mcpsim_" #name "@PLT\n"   \
            ".size " #name ", . - " #name "\n.reloc " #name ", R_X86_64_NONE, mcpsim_own\n.popsection")

JUMP(dlopen);
JUMP(dlmopen);
JUMP(dlsym);
JUMP(dlvsym);
