internal import CTileKernels
internal import NocturneSystem
internal import Synchronization

/// A device as far as tiles need it: memory, and kernels that run in the order of the calls. Methods can be called on any thread,
/// also on several at the same time.
package final class TileDevice: @unchecked Sendable {
    // Unchecked: the functions may be called on any thread.
    /// For messages, such as `cuda:0`.
    package let name: String
    let functions: tile_device
    private let isAbandoned = Atomic<Bool>(false)

    init(_ name: String, _ functions: tile_device) {
        self.name = name
        self.functions = functions
    }

    /// The processor's memory, with the same kernels on the calling thread: what a device is compared with.
    package static let host = TileDevice("cpu", tile_host())

    /// Memory of the device, with any values at first.
    /// - Throws: ``EngineError``.
    package func allocate<Element: BitwiseCopyable>(_ count: Int, of type: Element.Type) throws(EngineError)
        -> DeviceMemory
    {
        let (bytes, overflow) = count.multipliedReportingOverflow(by: MemoryLayout<Element>.stride)
        guard !overflow, bytes > 0 else { throw failed("allocate memory", "no such number of bytes") }
        var address: UnsafeMutableRawPointer?
        try run("allocate memory", .outOfMemory) { functions.allocate(functions.owner, bytes, &address, $0, $1) }
        guard let address else { throw failed("allocate memory", "it returned none") }
        return DeviceMemory(address, byteCount: bytes) { self.release($0) }
    }

    /// To free memory, a driver waits for the device.
    private func release(_ address: UnsafeMutableRawPointer) {
        if !isAbandoned.load(ordering: .relaxed) { functions.release(functions.owner, address) }
    }

    /// The device does not answer: it is no longer called, and its memory is never freed.
    func abandon() { isAbandoned.store(true, ordering: .relaxed) }

    /// Bytes of memory that nobody has allocated.
    /// - Throws: ``EngineError``.
    package func unusedBytes() throws(EngineError) -> Int {
        var bytes = 0
        try run("state its free memory") { functions.unused(functions.owner, &bytes, $0, $1) }
        return bytes
    }

    /// Sets all bytes to 0.
    /// - Throws: ``EngineError``.
    package func clear(_ memory: DeviceMemory) throws(EngineError) {
        try run("clear memory") { functions.clear(functions.owner, memory.address, memory.byteCount, $0, $1) }
    }

    /// Memory of the device with these values.
    /// - Throws: ``EngineError``.
    package func allocate<Element: BitwiseCopyable>(copying values: UnsafeBufferPointer<Element>) throws(EngineError)
        -> DeviceMemory
    {
        let memory = try allocate(values.count, of: Element.self)
        try run("copy to the device") {
            functions.upload(functions.owner, memory.address, values.baseAddress, memory.byteCount, $0, $1)
        }
        return memory
    }

    /// Fills `values` from the elements that begin at `first`, once all kernels so far have ended.
    /// - Throws: ``EngineError``.
    package func download<Element: BitwiseCopyable>(
        _ memory: DeviceMemory,
        from first: Int = 0,
        to values: UnsafeMutableBufferPointer<Element>
    ) throws(EngineError) {
        let start = first * MemoryLayout<Element>.stride
        let bytes = UnsafeMutableRawBufferPointer(values)
        precondition(start >= 0 && start + bytes.count <= memory.byteCount, "beyond the end of the memory")
        try run("copy from the device") {
            functions.download(functions.owner, bytes.baseAddress, memory.address + start, bytes.count, $0, $1)
        }
    }

    /// Starts a kernel.
    /// - Parameter arguments: the structure of the kernel's name.
    func launch<Arguments>(_ kernel: tile_kernel, _ arguments: Arguments, count: Int) throws(EngineError) {
        var arguments = arguments
        try run("run a kernel") { reason, bytes in
            withUnsafePointer(to: &arguments) {
                functions.launch(functions.owner, kernel, $0, Int64(count), reason, bytes)
            }
        }
    }

    private func run(
        _ step: String,
        _ kind: EngineError.Code = .failed,
        _ body: (UnsafeMutablePointer<CChar>?, Int) -> Int32
    ) throws(EngineError) {
        guard !isAbandoned.load(ordering: .relaxed) else { throw failed(step, "it does not answer") }
        var message = MessageBuffer()
        let code = message.fill(body)
        if code == TILE_NO_ANSWER { abandon() }
        guard code == 0 else {
            let kind: EngineError.Code = code == TILE_NO_ANSWER ? .unresponsive : kind
            throw EngineError(kind, "\(name) failed to \(step): \(EngineError.condensed(message.text))")
        }
    }

    /// - Parameters:
    ///   - step: completes "failed to".
    ///   - reason: the driver's own, or what was seen.
    package func failed(_ step: String, _ reason: String) -> EngineError {
        EngineError(.failed, "\(name) failed to \(step): \(reason)")
    }
}

/// Memory of a device, which only its kernels and copies read and write.
package final class DeviceMemory: @unchecked Sendable {
    // Unchecked: an address and a size that never change.
    let address: UnsafeMutableRawPointer
    /// Its size.
    package let byteCount: Int
    private let release: @Sendable (UnsafeMutableRawPointer) -> Void

    /// - Parameter release: frees the memory, if it belongs to this value.
    init(
        _ address: UnsafeMutableRawPointer,
        byteCount: Int,
        release: @escaping @Sendable (UnsafeMutableRawPointer) -> Void
    ) {
        self.address = address
        self.byteCount = byteCount
        self.release = release
    }

    deinit { release(address) }

    /// The number of float32 values.
    package var floats: Int { byteCount / MemoryLayout<Float>.stride }

    func values<Element>(of type: Element.Type) -> UnsafeMutablePointer<Element> {
        address.assumingMemoryBound(to: type)
    }
}
