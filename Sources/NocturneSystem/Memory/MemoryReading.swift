/// The memory of the machine and of this process at one moment. Values that the system does not report are nil.
public struct MemoryReading: Hashable, Sendable {
    /// `MemTotal` of the machine.
    public var systemTotalBytes: Int?
    /// `MemAvailable`: the kernel's estimate of what new programs can get without swapping.
    public var systemAvailableBytes: Int?
    /// The tightest limit of the process's control group and those above it (`memory.max` and `memory.high`, or v1's
    /// `memory.limit_in_bytes`); nil without a limit.
    public var cgroupLimitBytes: Int?
    /// The least that is left in one of these groups. Pages of files count as free, since the kernel drops them first.
    public var cgroupAvailableBytes: Int?
    /// The limit of this process's address space (`ulimit -v`, which some schedulers of clusters set); nil without one.
    public var addressSpaceLimitBytes: Int?
    /// What is left below it. Files that are mapped and stacks that are hardly used count in full.
    public var addressSpaceAvailableBytes: Int?
    /// The share of the last ten seconds, in per cent, in which some task waited for memory.
    public var stallPercent: Double?
    /// The resident bytes of this process.
    public var residentBytes: Int?
    /// Those of them without a file, which the kernel cannot reclaim. Buffers in files are not among them.
    public var anonymousBytes: Int?

    /// A reading with the figures that are given, for callers that simulate a machine; what is left out is unknown.
    public init(
        systemTotalBytes: Int? = nil,
        systemAvailableBytes: Int? = nil,
        cgroupLimitBytes: Int? = nil,
        stallPercent: Double? = nil,
        residentBytes: Int? = nil,
        anonymousBytes: Int? = nil
    ) {
        self.systemTotalBytes = systemTotalBytes
        self.systemAvailableBytes = systemAvailableBytes
        self.cgroupLimitBytes = cgroupLimitBytes
        self.stallPercent = stallPercent
        self.residentBytes = residentBytes
        self.anonymousBytes = anonymousBytes
    }

    /// The smallest of the machine's bytes and the limits; nil when none is known.
    public var limitBytes: Int? { Self.smallest(systemTotalBytes, cgroupLimitBytes, addressSpaceLimitBytes) }

    /// What can still be allocated within all of them; nil when none is known.
    public var availableBytes: Int? {
        Self.smallest(systemAvailableBytes, cgroupAvailableBytes, addressSpaceAvailableBytes)
    }

    /// Reads the system's files: under a millisecond, and never an error, since a missing file is a missing figure.
    ///
    /// - Parameters:
    ///   - procRoot: Where procfs is mounted.
    ///   - cgroupRoot: Where the control groups are mounted (v2 there, v1 in `memory` below it).
    public static func take(procRoot: String = "/proc", cgroupRoot: String = "/sys/fs/cgroup") -> MemoryReading {
        var reading = MemoryReading()
        if let text = contents(of: procRoot + "/meminfo") {
            reading.systemTotalBytes = bytes(of: "MemTotal:", in: text)
            reading.systemAvailableBytes = bytes(of: "MemAvailable:", in: text)
        }
        if let text = contents(of: procRoot + "/pressure/memory") { reading.stallPercent = someAverage(in: text) }
        if let text = contents(of: procRoot + "/self/status") {
            reading.residentBytes = bytes(of: "VmRSS:", in: text)
            // Linux before 4.5 and gVisor state only the sum.
            reading.anonymousBytes = bytes(of: "RssAnon:", in: text) ?? reading.residentBytes
            if let limit = addressSpaceLimit(procRoot) {
                reading.addressSpaceLimitBytes = limit
                reading.addressSpaceAvailableBytes = max(0, limit - (bytes(of: "VmSize:", in: text) ?? 0))
            }
        }
        for group in ControlGroup.groups(procRoot: procRoot, cgroupRoot: cgroupRoot) {
            reading.cgroupLimitBytes = smallest(reading.cgroupLimitBytes, group.limit)
            reading.cgroupAvailableBytes = smallest(reading.cgroupAvailableBytes, group.available)
        }
        return reading
    }

    /// How many processes of this one's control group (of the machine, where the group has no count) the kernel has killed
    /// so far because memory ran out; nil where neither has one.
    public static func outOfMemoryKills(procRoot: String = "/proc", cgroupRoot: String = "/sys/fs/cgroup") -> Int? {
        ControlGroup.outOfMemoryKills(procRoot: procRoot, cgroupRoot: cgroupRoot)
            ?? contents(of: procRoot + "/vmstat").flatMap { number(of: "oom_kill", in: $0) }
    }

    private static func smallest(_ values: Int?...) -> Int? { values.compactMap(\.self).min() }

    /// The soft limit in `/proc/self/limits`; nil for "unlimited".
    private static func addressSpaceLimit(_ procRoot: String) -> Int? {
        let name = "Max address space"
        let line = contents(of: procRoot + "/self/limits")?.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.dropFirst(name.count).split(separator: " ").first.flatMap { Int($0) }
    }

    /// The bytes of a line such as `VmRSS:	  1234 kB`.
    package static func bytes(of key: String, in text: String) -> Int? {
        // 2⁵⁰ kB is 1 EiB: larger values are damaged text, and might overflow.
        number(of: key, in: text).flatMap { $0 < 1 << 50 ? $0 * 1024 : nil }
    }

    private static func number(of key: String, in text: String) -> Int? {
        value(of: key, in: text).flatMap { UInt($0) }.flatMap { Int(exactly: $0) }
    }

    /// The word after a key, in a file with a key a line.
    static func value(of key: String, in text: String) -> Substring? {
        // Bytes are several times as fast as characters, and each item waits for some readings.
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) where line.starts(with: key.utf8) {
            let words = Substring(line).split(whereSeparator: \.isWhitespace)
            if words.count > 1, words[0] == key { return words[1] }
        }
        return nil
    }

    private static func someAverage(in text: String) -> Double? {
        for line in text.split(separator: "\n") where line.hasPrefix("some ") {
            for field in line.split(separator: " ") where field.hasPrefix("avg10=") {
                guard let value = Double(field.dropFirst(6)), value.isFinite else { return nil }
                return value
            }
        }
        return nil
    }

    /// A small system file, nil when it cannot be read.
    static func contents(of path: String) -> String? {
        // These files are a few kilobytes; anything longer is not one of them, and is cut off.
        guard let file = try? FileDescriptor(reading: path), let bytes = try? file.read(count: 1 << 16)
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension MemoryReading {
    /// Resident bytes of this process now, and the most there ever were; 0 where the system does not report it. A full
    /// ``take(procRoot:cgroupRoot:)`` has no peak, and reads files that each item need not wait for.
    public static func ofProcess() -> (resident: Int, peak: Int) {
        guard let text = contents(of: "/proc/self/status") else { return (0, 0) }
        return (bytes(of: "VmRSS:", in: text) ?? 0, bytes(of: "VmHWM:", in: text) ?? 0)
    }

    /// The memory controller of one control group.
    struct ControlGroup {
        let limit: Int
        let available: Int

        /// The group of this process and all above it, those without a limit left out.
        ///
        /// In a container the path in `self/cgroup` may be the host's and not be there below the mount; the walk upwards
        /// then ends at the mount itself, which is the container's group.
        static func groups(procRoot: String, cgroupRoot: String) -> [ControlGroup] {
            guard let place = place(procRoot: procRoot, cgroupRoot: cgroupRoot) else { return [] }
            return walk(from: place.path, below: place.root, place.isLegacy ? legacyGroup : unifiedGroup)
        }

        /// The kernel's count in the nearest group that keeps one.
        static func outOfMemoryKills(procRoot: String, cgroupRoot: String) -> Int? {
            guard let place = place(procRoot: procRoot, cgroupRoot: cgroupRoot) else { return nil }
            let file = place.isLegacy ? "/memory.oom_control" : "/memory.events"
            return walk(from: place.path, below: place.root) { folder in
                MemoryReading.contents(of: folder + file).flatMap { MemoryReading.number(of: "oom_kill", in: $0) }
            }.first
        }

        /// Where the groups are mounted that account for this process's use of a controller, and its own path below.
        static func place(
            procRoot: String,
            cgroupRoot: String,
            controller: String = "memory"
        ) -> (root: String, path: String, isLegacy: Bool)? {
            guard let text = MemoryReading.contents(of: procRoot + "/self/cgroup") else { return nil }
            var unified: String?
            for line in text.split(separator: "\n") {
                let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
                guard fields.count == 3 else { continue }
                // A v1 controller takes its resource away from the unified tree.
                if fields[1].split(separator: ",").contains(where: { $0 == controller }) {
                    return (cgroupRoot + "/" + controller, String(fields[2]), true)
                }
                if fields[0] == "0" && fields[1].isEmpty { unified = String(fields[2]) }
            }
            return unified.map { (cgroupRoot, $0, false) }
        }

        static func walk<Found>(
            from path: String,
            below root: String,
            _ group: (String) -> Found?
        ) -> [Found] {
            var parts = path.split(separator: "/")
            // A group outside the namespace of this process is shown with "..": only the mount is visible then.
            guard !parts.contains("..") else { return [group(root)].compactMap { $0 } }
            var groups: [Found] = []
            while true {
                if let found = group(([root] + parts.map(String.init)).joined(separator: "/")) { groups.append(found) }
                if parts.isEmpty { return groups }
                parts.removeLast()
            }
        }

        private static func unifiedGroup(at folder: String) -> ControlGroup? {
            // Above `memory.max` the kernel kills, above `memory.high` it slows down: a run has to stay below both.
            let limits = ["/memory.max", "/memory.high"].compactMap { number(at: folder + $0) }
            guard let limit = limits.min(), let current = number(at: folder + "/memory.current") else { return nil }
            return ControlGroup(limit: limit, used: current, reclaimable: files("", at: folder))
        }

        private static func legacyGroup(at folder: String) -> ControlGroup? {
            // "No limit" is written as the largest multiple of the page size.
            guard let limit = number(at: folder + "/memory.limit_in_bytes"), limit < 1 << 60,
                let used = number(at: folder + "/memory.usage_in_bytes")
            else { return nil }
            return ControlGroup(limit: limit, used: used, reclaimable: files("total_", at: folder))
        }

        /// Pages of files, which the kernel takes back (after writing them, where they were changed) before anything dies.
        private static func files(_ prefix: String, at folder: String) -> Int {
            statistic(prefix + "inactive_file", at: folder) + statistic(prefix + "active_file", at: folder)
        }

        private init(limit: Int, used: Int, reclaimable: Int) {
            self.limit = limit
            available = max(0, limit - max(0, used - reclaimable))
        }

        /// Nil for "max" too.
        static func number(at path: String) -> Int? {
            guard let text = MemoryReading.contents(of: path), let line = text.split(separator: "\n").first,
                let value = Int(line), value >= 0
            else { return nil }
            return value
        }

        private static func statistic(_ key: String, at folder: String) -> Int {
            MemoryReading.contents(of: folder + "/memory.stat").flatMap { MemoryReading.number(of: key, in: $0) } ?? 0
        }
    }
}
