"""MONAI bundles as model packages."""
