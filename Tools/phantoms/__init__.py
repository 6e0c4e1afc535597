"""Synthetic CT torsos ("phantoms"): invented anatomy, no patient data, no medical use."""
