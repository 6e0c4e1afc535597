import Foundation
import NocturneConcurrency
public import NocturneSystem

/// One fact about the machine, and whether a run can work with it.
public struct HealthFinding: Encodable, Sendable {
    /// `warning`: a run works, and may be slow or stop early. `fault`: a run would fail.
    public enum State: String, Encodable, Sendable { case ok, warning, fault }

    /// What was looked at, such as `disk`.
    public let subject: String
    /// Whether a run can work with it.
    public let state: State
    /// The finding, for the user.
    public let fact: String

    /// - Parameter state: `ok` where nothing is wrong.
    public init(_ subject: String, _ fact: String, _ state: State = .ok) {
        self.subject = subject
        self.fact = fact
        self.state = state
    }
}

/// Measures what a run needs of the machine: memory, clock, disk.
public struct MachineHealth: Sendable {
    private let time: any TimeSource

    /// - Parameter time: the clock whose steps are checked.
    public init(time: any TimeSource) { self.time = time }

    /// The name of the processor, as Linux gives it; nil if it does not.
    /// - Parameter text: the content of `/proc/cpuinfo`.
    public static func processorName(_ text: String) -> String? {
        // The first processor's: a machine has one kind.
        let line = text.split(separator: "\n").first { $0.hasPrefix("model name") }
        return line?.split(separator: ":", maxSplits: 1).last.map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// The available memory, and its limits.
    public func memory(_ reading: MemoryReading = .take()) -> [HealthFinding] {
        func text(_ bytes: Int?) -> String { bytes.map { "\(ByteCount($0))" } ?? "unknown" }
        let budget = MemoryBudget.defaultTotal(reading)
        var findings = [
            HealthFinding(
                "memory",
                "\(text(reading.systemAvailableBytes)) of \(text(reading.systemTotalBytes)) available; "
                    + "the default budget would be \(ByteCount(budget))",
                budget < 1 << 30 ? .warning : .ok
            )
        ]
        if let limit = reading.cgroupLimitBytes {
            let available = text(reading.cgroupAvailableBytes)
            let fact = "\(ByteCount(limit)) by a cgroup, \(available) of it available"
            findings.append(HealthFinding("memory limit", fact))
        } else {
            findings.append(HealthFinding("memory limit", "none by a cgroup"))
        }
        if let limit = reading.addressSpaceLimitBytes {
            let available = text(reading.addressSpaceAvailableBytes)
            let fact = "\(ByteCount(limit)) of address space (ulimit -v), \(available) of it available"
            findings.append(HealthFinding("memory limit", fact, .warning))
        }
        if let stall = reading.stallPercent {
            // The `some avg10` of the kernel's pressure stall information.
            let fact = "tasks waited for memory during \(stall) % of the last ten seconds"
            findings.append(HealthFinding("memory pressure", fact, stall > 10 ? .warning : .ok))
        } else {
            findings.append(HealthFinding("memory pressure", "unknown: this kernel has no /proc/pressure/memory"))
        }
        return findings
    }

    /// The system clock, and whether its year is plausible.
    public func clock() -> HealthFinding {
        let now = time.wallClock
        let date = Date(timeIntervalSince1970: TimeInterval(now.seconds))
        let year = Calendar(identifier: .gregorian).component(.year, from: date)
        return HealthFinding("clock", now.timestamp, (2024..<2100).contains(year) ? .ok : .warning)
    }

    /// Writes, flushes, exchanges and removes files in the folder, or in the nearest one above it that exists.
    public func disk(_ folder: String) -> [HealthFinding] {
        let place = FileSystem.nearest(to: folder)
        let trial = place + "/.nocturne-doctor-\(getpid())"
        defer { FileSystem.remove(trial) }
        var findings: [HealthFinding] = []
        do {
            try FileSystem.makeFolder(trial)
            findings.append(try speed(of: trial, in: place))
            try FileSystem.makeFolder(trial + "/a")
            try FileSystem.makeFolder(trial + "/b")
            try FileSystem.putInPlace(trial + "/a", at: trial + "/b", movingOldTo: trial + "/old")
            findings.append(HealthFinding("renames", "results can be put in place"))
        } catch {
            findings.append(HealthFinding("disk", "\(error)", .fault))
        }
        return findings
    }

    private func speed(of trial: String, in place: String) throws -> HealthFinding {
        let bytes = [UInt8](repeating: 7, count: 64 << 20)
        let start = time.monotonic
        // 64 MiB with the flush, since a write alone measures the page cache.
        try FileSystem.write(trial + "/speed", bytes, flush: true)
        let seconds = (time.monotonic - start).inSeconds
        let speed = Int(Double(bytes.count) / max(seconds, 1e-6)) >> 20
        let free = FileSystem.freeBytes(at: trial) ?? 0
        return HealthFinding(
            "disk",
            "\(place): \(ByteCount(free)) free, \(speed) MiB/s written and flushed",
            free < 1 << 30 || speed < 20 ? .warning : .ok
        )
    }
}
