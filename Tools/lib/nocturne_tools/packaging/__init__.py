"""Wheel and Debian package: the installed files, their libraries, licences and manual pages."""
