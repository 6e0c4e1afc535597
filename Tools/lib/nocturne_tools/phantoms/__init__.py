"""Synthetic CT torsos ("phantoms"): artificial anatomy, no patient data, no medical use."""
