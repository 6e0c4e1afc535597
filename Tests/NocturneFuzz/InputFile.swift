#if canImport(Glibc)
    import Glibc
#endif

/// A file in memory that holds one input after the other, for readers that take paths. It stays until the process ends.
enum InputFile {
    /// A folder of this process alone.
    static let folder: String = {
        let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/var/tmp"
        var template = Array("\(parent)/nocturne-fuzz-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { preconditionFailure("no folder for inputs: errno \(errno)") }
        let made = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        atexit { InputFile.removeAll() }
        return made
    }()

    /// Writes the bytes to a file of that name, over what was there.
    static func write(_ bytes: UnsafeRawBufferPointer, _ name: String) -> String {
        let path = folder + "/" + name
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        precondition(descriptor >= 0, "cannot write an input: errno \(errno)")
        defer { close(descriptor) }
        precondition(Glibc.write(descriptor, bytes.baseAddress, bytes.count) == bytes.count, "cannot write an input")
        return path
    }

    static func write(_ bytes: [UInt8], _ name: String) -> String { bytes.withUnsafeBytes { write($0, name) } }

    private static func removeAll() {
        guard let stream = opendir(folder) else { return }
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            unlink(folder + "/" + name)
        }
        closedir(stream)
        rmdir(folder)
    }
}
