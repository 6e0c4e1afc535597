/// Words of command lines for a shell.
public enum ShellWord {
    /// The word in a form that a POSIX shell takes as it is: in single quotes if it has other characters than letters, digits and
    /// `/._-=:@%+,`.
    public static func quoted(_ word: String) -> String {
        if isPlain(word[...]), !word.isEmpty { return word }
        return "'" + word.replacing("'", with: "'\\''") + "'"
    }

    /// Whether the text needs no quotes.
    package static func isPlain(_ text: Substring) -> Bool {
        let others = "0123456789/._-=:@%+,".unicodeScalars
        return text.unicodeScalars.allSatisfy { $0.properties.isAlphabetic || others.contains($0) }
    }
}
