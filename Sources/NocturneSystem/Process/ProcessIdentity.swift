internal import CPosix
internal import Glibc

/// Which process it is, among those of all machines and containers that may see the same folder.
///
/// A process id alone names nobody: numbers are used again, and every host and container has its own. Together with the
/// time at which the process started, the boot of its machine and its process-id namespace it is unique.
public struct ProcessIdentity: Codable, Sendable, Hashable {
    /// The process id in its own namespace.
    public let process: Int32
    /// When the process started, in clock ticks since the boot; nil where `/proc` does not have it.
    public let startTicks: UInt64?
    /// The kernel's random name of the boot.
    public let bootID: String?
    /// Such as `pid:[4026531836]`.
    public let pidNamespace: String?
    /// The name of the machine, for people.
    public let host: String?

    /// Recorded values, as they are read from a file. For this process use ``current()``.
    public init(process: Int32, startTicks: UInt64?, bootID: String?, pidNamespace: String?, host: String?) {
        self.process = process
        self.startTicks = startTicks
        self.bootID = bootID
        self.pidNamespace = pidNamespace
        self.host = host
    }

    /// This process.
    public static func current() -> ProcessIdentity { here(getpid()) }

    /// The identity of the process that has the number now on this machine, whichever it is.
    private static func here(_ process: Int32) -> ProcessIdentity {
        var name = [CChar](repeating: 0, count: 256)
        let isNamed = gethostname(&name, name.count - 1) == 0
        return ProcessIdentity(
            process: process,
            startTicks: MemoryReading.contents(of: "/proc/\(process)/stat").flatMap(startTicks(inStat:)),
            bootID: MemoryReading.contents(of: "/proc/sys/kernel/random/boot_id")?.split(separator: "\n").first
                .map(String.init),
            pidNamespace: link("/proc/self/ns/pid"),
            host: isNamed ? String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
        )
    }

    /// Whether the process that was recorded is running, on this machine and in this namespace. False where that cannot be
    /// determined.
    public var isRunningHere: Bool { agrees(with: .here(process)) }

    /// Whether both are known to be the same process.
    package func agrees(with other: ProcessIdentity) -> Bool {
        guard process > 1, process == other.process, let startTicks, let bootID, let pidNamespace else { return false }
        return startTicks == other.startTicks && bootID == other.bootID && pidNamespace == other.pidNamespace
    }

    /// Sends a signal to this very process, if it is running here.
    /// - Returns: Whether it was sent.
    public func send(_ signal: Int32) -> Bool {
        // `kill` takes 0 and negative numbers as groups of processes, and 1 is the first process of the system.
        guard process > 1 else { return false }
        // The descriptor stays with the process: when it ends between look and signal, nobody else is signalled.
        let descriptor = cposix_process_open(process)
        guard descriptor >= 0 else {
            guard descriptor == -ENOSYS, isRunningHere else { return false }
            return kill(process, signal) == 0
        }
        defer { close(descriptor) }
        return isRunningHere && cposix_process_signal(descriptor, signal) == 0
    }

    /// The 22nd field of `/proc/PID/stat`. The second, the program's name, may hold spaces and parentheses. Nil for a process
    /// that has ended and waits for its parent to notice.
    package static func startTicks(inStat text: String) -> UInt64? {
        guard let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard let state = fields.first, !["Z", "X", "x"].contains(state) else { return nil }
        return fields.count > 19 ? UInt64(fields[19]) : nil
    }

    private static func link(_ path: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: 256)
        let length = bytes.withUnsafeMutableBytes {
            readlink(path, $0.baseAddress!.assumingMemoryBound(to: CChar.self), 256)
        }
        return length > 0 ? String(decoding: bytes.prefix(length), as: UTF8.self) : nil
    }
}

extension ProcessIdentity {
    /// Whether a process is being ended: its first thread has ended, or will as soon as its system call returns. The process is
    /// there until its last thread has ended.
    /// - Returns: nil for a process that is not there.
    public static func isExiting(_ process: Int32) -> Bool? {
        MemoryReading.contents(of: "/proc/\(process)/status").map(isExiting(status:))
    }

    /// - Parameter status: the content of `/proc/PID/status`.
    package static func isExiting(status: String) -> Bool {
        // Signal 9 is bit 8. The kernel gives it to every thread of a process that exits.
        let pending = MemoryReading.value(of: "SigPnd:", in: status).flatMap { UInt64($0, radix: 16) } ?? 0
        return ["Z", "X"].contains(MemoryReading.value(of: "State:", in: status)) || pending & 1 << 8 != 0
    }
}
