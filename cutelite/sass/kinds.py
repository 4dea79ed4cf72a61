"""Opcodes of machine code -> the classes that an instruction mix counts.

Source  CUDA Binary Utilities: instruction set reference of each architecture
"""

from __future__ import annotations

import re

KINDS = {
    "tensor": "products of matrices on the tensor core",
    "float": "floating-point arithmetic",
    "special": "the special-function unit: ex2, rcp, sin and others",
    "convert": "conversions between types",
    "integer": "integer and predicate arithmetic, addresses",
    "uniform": "the same on the uniform datapath, once for a warp",
    "move": "moves and selections between registers, special registers",
    "shuffle": "exchange between the threads of a warp",
    "global load": "loads of global memory",
    "global store": "stores to global memory and reductions in it",
    "shared load": "loads of shared memory",
    "shared store": "stores to shared memory and reductions in it",
    "local": "local memory: spills, and arrays that are indexed at run time",
    "constant": "loads of constant banks: parameters, literals",
    "texture": "textures and surfaces",
    "copy": "asynchronous copies: TMA, bulk, cp.async",
    "sync": "barriers, mbarriers, fences, waits",
    "control": "branches, calls, reconvergence",
    "none": "padding and hints",
    "other": "opcodes that this table does not have",
}
"""Every class, with a description."""

_OPCODES = {
    "tensor": "HMMA HGMMA QGMMA IGMMA BGMMA DGMMA IMMA BMMA DMMA QMMA OMMA UTCHMMA UTCQMMA UTCIMMA UTCOMMA UTCBMMA "
    "UTCMMA",
    "float": "FADD FADD2 FADD32I FMUL FMUL2 FMUL32I FFMA FFMA2 FFMA32I FMNMX FMNMX3 FSEL FSET FSETP FSWZADD FCHK FRND "
    "HADD2 HADD2_32 HFMA2 HFMA2_MMA HMUL2 HMNMX2 HSET2 HSETP2 DADD DFMA DMUL DSETP DMNMX",
    "special": "MUFU RRO",
    "convert": "F2F F2FP F2I F2IP I2F I2FP I2I I2IP FRND F2F16 F2F32",
    "integer": "IADD IADD3 IADD32I VIADD VIADDMNMX VIMNMX VIMNMX3 IMAD IMUL IMNMX IABS ISAD ISCADD IDP IDP4A LEA LOP "
    "LOP3 LOP32I SHF SHL SHR BFE BFI BREV BMSK FLO POPC SGXT ISET ISETP PSET PSETP PLOP3 VABSDIFF VABSDIFF4 XMAD "
    "VHMNMX SEL3 IADD2",
    "uniform": "UIADD3 UIMAD UISETP ULEA ULOP ULOP3 USHF UBMSK UBREV UFLO UPOPC USGXT UPLOP3 UPSETP UISET UMOV USEL "
    "UPRMT ULDC R2UR R2UP UP2UR UR2UP VOTEU S2UR UF2FP UFADD UFFMA UFMUL UI2F UF2I UVIADD UIABS UIMNMX UCLEA "
    "UGETNEXTWORKID REDUX CREDUX UIADD3.64 USETMAXREG UI2FP UFSETP UFSEL UVIMNMX UF2IP UFMNMX UFRND",
    "move": "MOV MOV32I SEL PRMT S2R CS2R B2R R2B P2R R2P LEPC MOVM GETLMEMBASE SETLMEMBASE CSMTEST PIXLD AL2P MOVM",
    "shuffle": "SHFL VOTE MATCH",
    "global load": "LDG LD LDGMC LDGDEPBAR",
    "global store": "STG ST RED REDG ATOM ATOMG MATOM",
    "shared load": "LDS LDSM LDTM",
    "shared store": "STS STSM ATOMS STAS REDAS STTM",
    "local": "LDL STL",
    "constant": "LDC LDCU",
    "texture": "TEX TLD TLD4 TMML TXD TXQ SULD SUST SURED SUATOM",
    "copy": "LDGSTS UTMALDG UTMASTG UTMAREDG UTMAPF UTMACCTL UBLKCP UBLKPF UBLKRED UTCCP UTCSHIFT LDGDEPBAR",
    "sync": "BAR SYNCS DEPBAR MEMBAR FENCE ERRBAR CCTL CCTLL CCTLT ARRIVES WARPGROUP WARPSYNC WARPGROUPSET NANOSLEEP "
    "ACQBULK UCGABAR_ARV UCGABAR_WAIT UTMACMDFLUSH CGAERRBAR ELECT PREEXIT UTCBAR UTCATOMSWS UVIRTCOUNT ACQSHMINIT "
    "ENDCOLLECTIVE B2UR",
    "control": "BRA BRX BRXU JMP JMX JMXU CALL RET EXIT KILL BSSY BSYNC BREAK BMOV BPT RTT YIELD RPCMOV WARPSYNC.EXIT "
    "WARPSYNC.COLLECTIVE SSY PBK",
    "none": "NOP PMTRIG",
}

_KIND = {opcode: kind for kind, opcodes in _OPCODES.items() for opcode in opcodes.split()}
_TENSOR = re.compile(r"(UTC)?[A-Z]G?MMA$")


def kind_of(opcode: str) -> str:
    """Return the class of an opcode, with or without its modifiers: 'tensor' for `HGMMA.64x256x16.F32`."""
    base = opcode.partition(".")[0]
    return _KIND.get(base) or ("tensor" if _TENSOR.match(base) else "other")
