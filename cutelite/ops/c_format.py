"""Numbers as C's printf writes them: what a GPU's prints look like, for the simulator.

In    a conversion's flags, width, precision and letter, and the number
Out   text. NaN has no sign here: that of a computed NaN differs between processors
"""

from __future__ import annotations

from math import isfinite


def text_of(flags: str, width: int, precision: int | None, letter: str, number: int | float) -> str:
    """Return the text of a number: for `d` and `i` signed, for other letters of integers and for `p` not negative."""
    if letter in "eEfFgGaA":
        sign, prefix, digits = _real(flags, precision, letter, float(number))
        zeros = isfinite(number)
    elif letter == "c":
        sign, prefix, digits, zeros = "", "", chr(int(number) & 0xFF), False
    elif letter == "p" and not number:
        sign, prefix, digits, zeros = "", "", "(nil)", False
    else:
        sign, prefix, digits = _integer(flags, precision, letter, int(number))
        zeros = precision is None
    if letter in "diaAeEfFgGp" and not sign and digits != "(nil)":
        sign = "+" if "+" in flags else " " if " " in flags else ""
    missing = max(0, width - len(sign) - len(prefix) - len(digits))
    if "-" in flags:
        return f"{sign}{prefix}{digits}{' ' * missing}"
    if "0" in flags and zeros:
        return f"{sign}{prefix}{'0' * missing}{digits}"
    return f"{' ' * missing}{sign}{prefix}{digits}"


def _integer(flags: str, precision: int | None, letter: str, number: int) -> tuple[str, str, str]:
    base = "o" if letter == "o" else "X" if letter == "X" else "x" if letter in "xp" else "d"
    digits = "" if number == 0 and precision == 0 else format(abs(number), base)
    digits = digits.rjust(precision or 0, "0")
    if letter == "o" and "#" in flags and not digits.startswith("0"):
        digits = f"0{digits}"
    prefix = f"0{base}" if letter == "p" or (letter in "xX" and "#" in flags and number) else ""
    return "-" if number < 0 else "", prefix, digits


def _real(flags: str, precision: int | None, letter: str, number: float) -> tuple[str, str, str]:
    """Return sign, prefix and digits."""
    if number != number:
        return "", "", "NAN" if letter.isupper() else "nan"
    if letter in "aA":
        sign, prefix, digits = _hexadecimal(flags, precision, number)
    else:
        alternate, decimals = "#" if "#" in flags else "", "" if precision is None else f".{precision}"
        text = f"%{alternate}{decimals}{letter}" % number
        sign, prefix, digits = ("-", "", text[1:]) if text.startswith("-") else ("", "", text)
    return (sign, prefix.upper(), digits.upper()) if letter.isupper() else (sign, prefix, digits)


def _hexadecimal(flags: str, precision: int | None, number: float) -> tuple[str, str, str]:
    text = number.hex()
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    if not isfinite(number):
        return sign, "", text
    mantissa, _, exponent = text.removeprefix("0x").partition("p")
    whole, _, fraction = mantissa.partition(".")
    if precision is None:
        fraction = fraction.rstrip("0")
    elif precision < len(fraction):  # to the nearest, ties to even
        cut = 4 * (len(fraction) - precision)
        bits = int(whole + fraction, 16)
        kept, rest = bits >> cut, bits & ((1 << cut) - 1)
        kept += (rest << 1) + (kept & 1) > 1 << cut
        digits = format(kept, "x").rjust(1 + precision, "0")
        whole, fraction = digits[: len(digits) - precision], digits[len(digits) - precision :]
    else:
        fraction = fraction.ljust(precision, "0")
    point = "." if fraction or "#" in flags else ""
    return sign, "0x", f"{whole}{point}{fraction}p{exponent}"
