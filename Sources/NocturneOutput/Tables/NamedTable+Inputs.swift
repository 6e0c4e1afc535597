import NocturneSystem

/// How rows of a user's tables refer to inputs.
extension NamedTable {
    /// The names of columns with inputs, the preferred ones first: those of the ISIC archive, of its challenges, of HAM10000 and of other
    /// published tables, then those of tables in German. An item may also be a number of the row, and a name that of a person.
    package static let inputColumns = [
        "image", "image_id", "image_name", "isic_id", "img_id", "image_file", "file_name", "file", "picture", "photo",
        "bild", "bildname", "bilddatei", "datei", "dateiname", "foto", "item", "name",
    ]

    /// A name of a column by its letters and digits, whatever their case: "Patient ID" is "patient_id".
    package static func simplified(_ column: String) -> String {
        column.lowercased().filter { $0.isLetter || $0.isNumber }
    }

    /// What a row may call an input, each once, the most specific first: its path, the ends of the path, its item, its file name; paths
    /// and file names also without extension.
    package static func inputNames(of path: String, item: String? = nil) -> [String] {
        let parts = path.utf8.split(separator: UInt8(ascii: "/"))
        guard let file = parts.last.map({ String(Substring($0)) }) else { return [] }
        let stem = withoutExtension(file)
        let ending = file.utf8.count - stem.utf8.count
        var names: [String] = []
        // Cut out of the path, not joined again: this is done for each of 100,000 inputs.
        func add(_ name: Substring) {
            names.append(String(name))
            if ending > 0 { names.append(String(Substring(name.utf8.dropLast(ending)))) }
        }
        if path.hasPrefix("/") { add(path[...]) }
        for part in parts.dropLast() { add(path[part.startIndex...]) }
        if let item, item != file, item != stem { names.append(item) }
        add(file[...])
        return names
    }

    /// What a row may call an input, for messages.
    package static let inputNameAdvice =
        "a row has the file name or the end of the path, with or without extension, with / between folders and with the same "
        + "upper and lower case"

    /// A row's name for an input, without "./" in front.
    package static func inputName(_ field: String) -> String {
        var name = Substring(field)
        while name.hasPrefix("./") { name = name.dropFirst(2) }
        return String(name)
    }

    /// A path or file name without `.nii.gz` and the like, or what follows the last point of the file name, if it has a letter: that of
    /// `P1.2` and of `scan.2024` is a part of the name.
    package static func withoutExtension(_ path: String) -> String {
        let lower = path.suffix(7).lowercased()
        if let ending = [".nii.gz", ".hdr.gz", ".img.gz", ".raw.gz"].first(where: { lower.hasSuffix($0) }) {
            return String(path.dropLast(ending.count))
        }
        let file = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        guard let point = path[file...].lastIndex(of: "."), point > file, path[point...].contains(where: \.isLetter)
        else { return path }
        return String(path[..<point])
    }

    /// The names of rows that mean several inputs, each with the shortest ends of their paths that mean one of them: what a message can
    /// advise.
    /// - Parameter uses: for each input the most specific name that a row has for it, and its path.
    package static func ambiguousNames(_ uses: [(name: String, path: String)]) -> [String: String] {
        Dictionary(grouping: uses, by: \.name).mapValues { Set($0.map(\.path)).sorted() }
            .filter { $0.value.count > 1 }.mapValues(distinctEnds)
    }

    private static func distinctEnds(_ paths: [String]) -> String {
        func end(_ path: String) -> String {
            let parts = path.split(separator: "/")
            let ends = parts.indices.reversed().lazy.map { parts[$0...].joined(separator: "/") }
            return ends.first { own in paths.count { $0 == own || $0.hasSuffix("/" + own) } == 1 } ?? path
        }
        return EventText.oneLine(listed(paths.lazy.map(end), most: 4))
    }
}
