/// This process's memory, from the system.
public enum ProcessMemory {
    /// Resident bytes now, and the most there ever were; 0 where the system does not say.
    public static func read() -> (resident: Int, peak: Int) {
        guard let text = try? FileSystem.read("/proc/self/status") else { return (0, 0) }
        return (bytes("VmRSS:", in: text), bytes("VmHWM:", in: text))
    }

    /// The value of a line such as `VmRSS:	  1234 kB`, in bytes. Asked for each item, so it makes no strings.
    package static func bytes(_ name: String, in status: [UInt8]) -> Int {
        guard let line = status.split(separator: 10).first(where: { $0.starts(with: name.utf8) }) else { return 0 }
        let digits = line.dropFirst(name.utf8.count).drop { $0 == 32 || $0 == 9 }.prefix { (48...57).contains($0) }
        return digits.prefix(15).reduce(0) { $0 * 10 + Int($1 - 48) } * 1024
    }
}
