"""The functions of llvmlite's library that compiling needs, called directly: importing its bindings takes 20 ms more.

The declarations are those of llvmlite 0.50's C interface (llvmlite/binding/*.py of that version, which pyproject.toml
requires). Objects are addresses, and whoever creates one disposes of it; `undisturbed` keeps threads apart if
necessary.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_bool, c_char_p, c_int, c_size_t, c_uint, c_void_p
from typing import Any

from cutelite.toolchain import warm
from cutelite.toolchain.errors import ToolchainError, excerpt

_INTERNAL = 8  # LLVMInternalLinkage
_TEXT = ctypes.POINTER(c_void_p)  # a message's text, which DisposeString frees

_FUNCTIONS: dict[str, tuple[Any, ...]] = {  # name: result, arguments
    "InitializeAllTargetInfos": (None,),
    "InitializeAllTargets": (None,),
    "InitializeAllTargetMCs": (None,),
    "InitializeAllAsmPrinters": (None,),
    "SetCommandLine": (None, c_char_p, c_char_p),
    "GetVersionInfo": (c_uint,),
    "ContextCreate": (c_void_p,),
    "ContextDispose": (None, c_void_p),
    "ParseAssembly": (c_void_p, c_void_p, c_char_p, _TEXT),
    "ParseBitcode": (c_void_p, c_void_p, c_char_p, c_size_t, _TEXT),
    "LinkModules": (c_int, c_void_p, c_void_p, _TEXT),
    "SetLinkage": (None, c_void_p, c_int),
    "DisposeModule": (None, c_void_p),
    "DisposeString": (None, c_void_p),
    "SetTarget": (None, c_void_p, c_char_p),
    "VerifyModule": (c_bool, c_void_p, _TEXT),
    "ModuleFunctionsIter": (c_void_p, c_void_p),
    "FunctionsIterNext": (c_void_p, c_void_p),
    "DisposeFunctionsIter": (None, c_void_p),
    "IsDeclaration": (c_int, c_void_p),
    "GetValueName": (c_char_p, c_void_p),
    "GlobalGetValueType": (c_void_p, c_void_p),
    "PrintType": (c_void_p, c_void_p),
    "GetTargetFromTriple": (c_void_p, c_char_p, _TEXT),
    "CreateTargetMachine": (
        c_void_p, c_void_p, c_char_p, c_char_p, c_char_p, c_int, c_char_p, c_char_p, c_int, c_int, c_char_p
    ),
    "CreateTargetMachineData": (c_void_p, c_void_p),
    "CopyStringRepOfTargetData": (None, c_void_p, _TEXT),
    "DisposeTargetData": (None, c_void_p),
    "SetDataLayout": (None, c_void_p, c_char_p),
    "CreatePipelineTuningOptions": (c_void_p,),
    "CreatePassBuilder": (c_void_p, c_void_p, c_void_p),
    "CreateNewFunctionPassManager": (c_void_p,),
    "CreateNewModulePassManager": (c_void_p,),
    "buildPerModuleDefaultPipeline": (c_void_p, c_void_p, c_int),
    "module_AddAlwaysInlinerPass": (None, c_void_p),
    "module_AddGlobalDCEPass": (None, c_void_p),
    "RunNewModulePassManager": (None, c_void_p, c_void_p, c_void_p),
    "DisposeNewModulePassManger": (None, c_void_p),
    "function_AddSROAPass": (None, c_void_p),
    "function_AddSimplifyCFGPass": (None, c_void_p),
    "function_AddInstCombinePass": (None, c_void_p),
    "RunNewFunctionPassManager": (None, c_void_p, c_void_p, c_void_p),
    "DisposeNewFunctionPassManger": (None, c_void_p),
    "DisposePassBuilder": (None, c_void_p),
    "DisposePipelineTuningOptions": (None, c_void_p),
    "TargetMachineEmitToMemory": (c_void_p, c_void_p, c_void_p, c_int, _TEXT),
    "GetBufferStart": (c_void_p, c_void_p),
    "GetBufferSize": (c_size_t, c_void_p),
    "DisposeMemoryBuffer": (None, c_void_p),
}  # fmt: skip


@functools.cache
def library() -> Any:
    """Return the library with its functions declared. Errors: `ToolchainError` if it is missing, or another version."""
    warm.wait()
    file = warm.path()
    try:
        if file is None:
            raise OSError("it is not installed")
        loaded = ctypes.CDLL(file)
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(loaded, f"LLVMPY_{name}")
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise ToolchainError("find", f"llvmlite is needed to compile, and cannot be loaded: {error}") from error
    return loaded


def version() -> tuple[int, int, int]:
    """Return the version of LLVM."""
    number = library().LLVMPY_GetVersionInfo()
    return number >> 16 & 0xFF, number >> 8 & 0xFF, number & 0xFF


@contextmanager
def module_of(text: str, triple: str) -> Iterator[tuple[int, int]]:
    """Parse and verify IR text. Yield its own context and the module, and dispose of both at the end.

    Errors  `ToolchainError` for text that does not parse, or breaks LLVM's rules
    """
    llvm = library()
    context = llvm.LLVMPY_ContextCreate()  # threads share nothing
    module, said = None, _Message(llvm)
    try:
        module = llvm.LLVMPY_ParseAssembly(context, text.encode(), said.place)
        if not said.text:
            llvm.LLVMPY_SetTarget(module, triple.encode())
            llvm.LLVMPY_VerifyModule(module, said.place)
        if said.text:
            raise ToolchainError("llvm", said.text, excerpt(text, said.text, r"<string>:(\d+):"))
        yield context, module
    finally:
        if module:
            llvm.LLVMPY_DisposeModule(module)
        llvm.LLVMPY_ContextDispose(context)


def link(context: int, module: int, machine: int, paths: tuple[str, ...]) -> None:
    """Link files of bitcode to a module: drop functions that it does not call, inline those marked `alwaysinline`.

    Errors  `ToolchainError` for files that cannot be read, are not bitcode, or define a symbol again, and for functions
            that the module declares with other types
    """
    llvm = library()
    own = set(_functions(module))
    declared = dict(map(_prototype, _functions(module, defined=False)))
    for path in paths:
        said = _Message(llvm)
        try:
            with open(path, "rb") as file:
                image = file.read()
        except OSError as error:
            raise ToolchainError("link", f"{path}: {error.strerror}") from None
        other = llvm.LLVMPY_ParseBitcode(context, image, len(image), said.place)
        if said.text or not other:
            raise ToolchainError("link", f"{path}: {said.text or 'this is not LLVM bitcode'}")
        for function in _functions(other):
            name, has = _prototype(function)
            if (wanted := declared.get(name, has)) != has:
                text = f"{path}: `{name}` is declared as {wanted}, and is {has} there, in LLVM's types"
                raise ToolchainError("link", text)
        if llvm.LLVMPY_LinkModules(module, other, said.place):  # it consumes the other module
            raise ToolchainError("link", f"{path}: {said.text}")
    for function in _functions(module):
        if function not in own:
            llvm.LLVMPY_SetLinkage(function, _INTERNAL)
    with _builder(machine) as builder:
        passes = llvm.LLVMPY_CreateNewModulePassManager()
        llvm.LLVMPY_module_AddAlwaysInlinerPass(passes)
        llvm.LLVMPY_module_AddGlobalDCEPass(passes)
        llvm.LLVMPY_RunNewModulePassManager(passes, module, builder)
        llvm.LLVMPY_DisposeNewModulePassManger(passes)


def _functions(module: int, defined: bool = True) -> Iterator[int]:
    """Yield the functions of a module that are defined in it, or those that are only declared."""
    llvm = library()
    functions = llvm.LLVMPY_ModuleFunctionsIter(module)
    while function := llvm.LLVMPY_FunctionsIterNext(functions):
        if bool(llvm.LLVMPY_IsDeclaration(function)) != defined:
            yield function
    llvm.LLVMPY_DisposeFunctionsIter(functions)


def _prototype(function: int) -> tuple[str, str]:
    """Return the name of a function, and its type: `float (float)`."""
    llvm = library()
    printed = c_void_p(llvm.LLVMPY_PrintType(llvm.LLVMPY_GlobalGetValueType(function)))
    try:
        return llvm.LLVMPY_GetValueName(function).decode(), ctypes.string_at(printed).decode()
    finally:
        llvm.LLVMPY_DisposeString(printed)


def register() -> None:
    """Register all targets, once in a process: 1 ms."""
    for part in ("TargetInfos", "Targets", "TargetMCs", "AsmPrinters"):
        getattr(library(), f"LLVMPY_InitializeAll{part}")()


def machine_of(triple: str, cpu: str, features: str, level: int, addresses: tuple[str, str]) -> int:
    """Return a target machine; it is never disposed of, since few are made. Errors: `ToolchainError`.

    addresses  the relocation model, and the code model
    """
    llvm = library()
    said = _Message(llvm)
    target = llvm.LLVMPY_GetTargetFromTriple(triple.encode(), said.place)
    if not target:
        raise ToolchainError("llvm", f"this llvmlite cannot generate code for {triple}: {said.text}")
    words = [word.encode() for word in (triple, cpu, features, *addresses)]
    machine: int = llvm.LLVMPY_CreateTargetMachine(target, *words[:3], level, *words[3:], 0, 0, b"")
    return machine


@contextmanager
def _builder(machine: int) -> Iterator[int]:
    """Yield a builder of passes for a target machine, and dispose of it at the end."""
    llvm = library()
    tuning = llvm.LLVMPY_CreatePipelineTuningOptions()
    builder = llvm.LLVMPY_CreatePassBuilder(machine, tuning)
    yield builder
    llvm.LLVMPY_DisposePassBuilder(builder)
    llvm.LLVMPY_DisposePipelineTuningOptions(tuning)


def optimise(module: int, machine: int) -> None:
    """Run LLVM's own pipeline of level 2 on a module, which gets the data layout of the machine."""
    llvm = library()
    layout, said = llvm.LLVMPY_CreateTargetMachineData(machine), _Message(llvm)
    llvm.LLVMPY_CopyStringRepOfTargetData(layout, said.place)
    llvm.LLVMPY_SetDataLayout(module, said.text.encode())
    llvm.LLVMPY_DisposeTargetData(layout)
    with _builder(machine) as builder:
        passes = llvm.LLVMPY_buildPerModuleDefaultPipeline(builder, 2)
        llvm.LLVMPY_RunNewModulePassManager(passes, module, builder)
        llvm.LLVMPY_DisposeNewModulePassManger(passes)


def tidy(module: int, machine: int) -> None:
    """Run four function passes on a module: SROA, simplify the CFG, combine instructions, simplify again."""
    llvm = library()
    with _builder(machine) as builder:
        passes = llvm.LLVMPY_CreateNewFunctionPassManager()
        llvm.LLVMPY_function_AddSROAPass(passes)
        llvm.LLVMPY_function_AddSimplifyCFGPass(passes)
        llvm.LLVMPY_function_AddInstCombinePass(passes)
        llvm.LLVMPY_function_AddSimplifyCFGPass(passes)
        for function in _functions(module):
            llvm.LLVMPY_RunNewFunctionPassManager(passes, function, builder)
        llvm.LLVMPY_DisposeNewFunctionPassManger(passes)


ASSEMBLY, OBJECT = 0, 1


def emitted(module: int, machine: int, form: int) -> bytes:
    """Return the module as the machine's `ASSEMBLY`, or as an `OBJECT` file. Errors: `ToolchainError`."""
    llvm = library()
    said = _Message(llvm)
    buffer = llvm.LLVMPY_TargetMachineEmitToMemory(machine, module, form, said.place)
    if not buffer:
        raise ToolchainError("llvm", said.text)
    try:
        return ctypes.string_at(llvm.LLVMPY_GetBufferStart(buffer), llvm.LLVMPY_GetBufferSize(buffer))
    finally:
        llvm.LLVMPY_DisposeMemoryBuffer(buffer)


class _Message:
    """A place into which LLVM writes a message, and its text."""

    def __init__(self, llvm: Any) -> None:
        self._llvm, self._held, self._text = llvm, c_void_p(), ""

    @property
    def place(self) -> Any:
        return ctypes.byref(self._held)

    @property
    def text(self) -> str:
        if self._held.value:
            self._text = ctypes.string_at(self._held.value).decode(errors="replace")
            self._llvm.LLVMPY_DisposeString(self._held)
            self._held.value = None
        return self._text
