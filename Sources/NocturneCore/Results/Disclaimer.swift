/// The sentence every medical result carries.
public enum Disclaimer {
    public static let text =
        "Research software. Not a medical device, not for diagnosis or treatment. Results may be wrong and must be "
        + "reviewed by a qualified person."
}
