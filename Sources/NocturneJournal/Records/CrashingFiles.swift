/// Files at which engines crashed during discovery, before there were items, in one run.
public struct CrashingFiles: Codable, Sendable, Equatable {
    /// What the last engine that crashed was reading, or had just read, one list a thread: one of these crashed it.
    public private(set) var suspects: [[String]] = []
    /// Files at which two engines crashed, with the reason: they are not read again.
    public private(set) var reasons: [String: String] = [:]

    public init() {}

    /// Takes in that an engine crashed while it was reading something.
    ///
    /// After the first crash files are read one after the other, so that files that were read beside the culprit by chance
    /// are not suspected a second time.
    /// - Returns: whether it was the second crash for any of the files, which are excluded from now on.
    public mutating func recordCrash(reading files: [[String]], cause: String) -> Bool {
        let culprits = files.filter(suspects.contains)
        for path in culprits.flatMap({ $0 }) { reasons[path] = "the engine crashed twice while reading it: \(cause)" }
        suspects = culprits.isEmpty ? files : []
        return !culprits.isEmpty
    }
}
