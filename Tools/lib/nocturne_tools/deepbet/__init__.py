"""deepbet, which finds the brain in T1-weighted MR: from its wheel to a program package."""
