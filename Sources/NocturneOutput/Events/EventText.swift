/// Texts about a batch for terminals and reports.
public enum EventText {
    /// Without what a terminal would obey: names of files may hold it.
    public static func printable(_ text: String) -> String {
        var shown = String.UnicodeScalarView()
        shown.append(
            contentsOf: text.unicodeScalars.lazy.map { scalar in
                scalar.properties.generalCategory == .control && scalar != "\n" ? "\u{FFFD}" : scalar
            }
        )
        return String(shown)
    }

    /// Seconds as text: tenths below ten, then seconds, minutes, hours.
    public static func duration(_ seconds: Double) -> String {
        if seconds < 10 { return "\((seconds * 10).rounded() / 10) s" }
        if seconds < 120 { return "\(Int(seconds.rounded())) s" }
        if seconds < 7200 { return "\(Int((seconds / 60).rounded())) min" }
        return "\((seconds / 360).rounded() / 10) h"
    }
}
