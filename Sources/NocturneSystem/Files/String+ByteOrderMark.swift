extension String {
    /// The text without a byte-order mark at its beginning, which some editors and spreadsheets put there.
    package var withoutByteOrderMark: Substring {
        unicodeScalars.first == "\u{FEFF}" ? Substring(unicodeScalars.dropFirst()) : self[...]
    }
}
