import NocturneJournal
import NocturneOutput
import NocturneReport
import NocturneSystem

/// How long items took and when they got their state, for the page. Times differ between runs, while the page's files
/// are the same for every run, so times are in the hidden folder, and the page shows none where the results were
/// copied without it.
extension ReviewPage.Parts {
    /// Writes the times of the items of the data file with that number, unless they exist. Errors are ignored: the page then
    /// has no times.
    func writeTimes(of items: [ReportedItem]) {
        let (output, number) = (batch.output, fileCount)
        let folder = output.times
        let path = folder + "/" + ReviewPage.fileName(number)
        let known = "2\n" + items.map { "\($0.item.name) \($0.item.changed ?? "")" }.joined(separator: "\n")
        let signature = "// \(ContentDigest.of(known).hex)\n"
        if (try? FileSystem.read(path).starts(with: signature.utf8)) == true { return }
        let seconds = items.map { $0.item.state == .completed ? Self.time(of: output.item($0.item.name)) : nil }
        guard seconds.contains(where: { $0 != nil }),
            let times = try? ReviewPage.script("nocturneTimes", seconds.map(Nullable.init), prefix: "\(number), ")
        else { return }
        let changed = items.map { Nullable(wrappedValue: $0.item.changed) }
        let moments = try? ReviewPage.script("nocturneMoments", changed, prefix: "\(number), ")
        try? Self.write(Array(signature.utf8) + times + (moments ?? []), to: path, in: folder)
    }

    /// Only the owner may read files in the hidden folder.
    private static func write(_ bytes: [UInt8], to path: String, in folder: String) throws {
        if !FileSystem.exists(folder) { try FileSystem.makeFolder(folder, mode: 0o700) }
        let new = path + ".new"
        FileSystem.touch(new, mode: 0o600)
        try FileSystem.write(new, bytes)
        try FileSystem.move(new, to: path)
    }

    /// Of all stages together; nil for a result without the record.
    private static func time(of folder: String) -> Double? {
        ResultFolder(folder).stageSeconds().map { ($0.values.reduce(0, +) * 1000).rounded() / 1000 }
    }
}
