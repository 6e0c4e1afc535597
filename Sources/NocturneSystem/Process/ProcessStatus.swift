/// What the kernel says about a process in `/proc/PID/status`.
public struct ProcessStatus: Sendable, Hashable {
    /// Whether the process is being ended: its first thread has ended, or will as soon as its system call returns. The
    /// process is there until its last thread has ended.
    public let isExiting: Bool

    /// - Returns: nil for a process that is not there.
    public init?(of process: Int32) {
        guard process > 0, let text = try? FileSystem.read("/proc/\(process)/status") else { return nil }
        self.init(text: String(decoding: text, as: UTF8.self))
    }

    package init(text: String) {
        var fields: [Substring: Substring] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { fields[parts[0]] = parts[1].drop { $0 == "\t" || $0 == " " } }
        }
        // Signal 9 is bit 8. The kernel gives it to every thread of a process that exits.
        let pending = fields["SigPnd"].flatMap { UInt64($0, radix: 16) } ?? 0
        isExiting = ["Z", "X"].contains(fields["State"]?.first) || pending & 1 << 8 != 0
    }
}
