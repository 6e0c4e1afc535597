/// This process's memory, from the system.
public enum ProcessMemory {
    /// Resident bytes now, and the most there ever were; 0 where the system does not say.
    public static func read() -> (resident: Int, peak: Int) {
        guard let text = try? FileSystem.read("/proc/self/status") else { return (0, 0) }
        var resident = 0
        var peak = 0
        for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            guard words.count >= 2, let kilobytes = Int(words[1]) else { continue }
            if words[0] == "VmRSS:" { resident = kilobytes * 1024 }
            if words[0] == "VmHWM:" { peak = kilobytes * 1024 }
        }
        return (resident, peak)
    }
}
