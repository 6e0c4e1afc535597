/// Names of labels in files of different programs.
public enum LabelName {
    /// The form in which two names of one label are equal: without case, and with spaces and hyphens as underscores. "Kidney right" is
    /// kidney_right.
    public static func comparable(_ name: String) -> String {
        String(name.lowercased().map { " -".contains($0) ? "_" : $0 })
    }

    /// Whether both name the same label.
    public static func areSame(_ first: String, _ second: String) -> Bool { comparable(first) == comparable(second) }
}
