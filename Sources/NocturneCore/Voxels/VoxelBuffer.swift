public import NocturneSystem

#if canImport(Glibc)
    import Glibc
#endif

/// The system would not map the memory for a buffer.
public struct AllocationError: SystemCallError, CustomStringConvertible {
    public let bytes: Int
    /// Where the buffer was to lie in a file; nil where there was no memory.
    public let systemCode: Int32?

    init(bytes: Int, system code: Int32? = nil) {
        self.bytes = bytes
        systemCode = code
    }

    public var description: String {
        guard let systemCode else { return "no memory for a buffer of \(bytes) bytes" }
        return "no file for a buffer of \(bytes) bytes: \(String(cString: strerror(systemCode)))"
    }
}

/// One owner's run of elements, for volumes and other large arrays. Starts as zeros.
///
/// Large buffers are mapped and unmapped (with huge pages advised), because the heap keeps what it frees: resident
/// memory falls the moment a buffer goes. There is one writer, by type: the buffer cannot be copied. ``frozen()`` turns
/// it into a shared, immutable ``FrozenVoxels``.
public struct VoxelBuffer<Element: BitwiseCopyable & Sendable>: ~Copyable, @unchecked Sendable {
    // Unchecked: the pointer is owned by this value alone, which cannot be copied.
    @usableFromInline let base: UnsafeMutablePointer<Element>
    public let count: Int
    private let mappedBytes: Int
    private let isInFile: Bool

    /// - Throws: ``AllocationError`` when the system refuses.
    /// - Complexity: O(1); pages are made by the kernel when first touched.
    public init(count: Int) throws(AllocationError) {
        precondition(count >= 0, "a buffer cannot have a negative count")
        let (bytes, overflow) = max(count, 1).multipliedReportingOverflow(by: MemoryLayout<Element>.stride)
        guard !overflow, bytes < 1 << 46 else { throw AllocationError(bytes: Int.max) }
        let page = 4096
        let length = (bytes + page - 1) / page * page
        if FaultPoint.allocation.failure() != nil { throw AllocationError(bytes: bytes) }
        let address = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let address, address != MAP_FAILED else { throw AllocationError(bytes: bytes) }
        if length >= 1 << 22 { _ = madvise(address, length, 14 /* MADV_HUGEPAGE */) }
        self.base = address.bindMemory(to: Element.self, capacity: max(count, 1))
        self.count = count
        self.mappedBytes = length
        isInFile = false
    }

    /// A buffer whose pages lie in a file without a name, so that the system can take them from memory.
    ///
    /// The file's space is reserved at once: a full disk is an error here, not a signal later. Resident pages can be let
    /// go with ``releasePages()``. Nothing is left behind, however the process ends.
    /// - Parameter folder: an existing folder on the file system that is to hold the bytes.
    /// - Throws: ``AllocationError`` when the system refuses.
    /// - Complexity: reading and writing is as fast as the page cache, and as the disk where that is too small.
    public init(count: Int, inFileIn folder: String) throws(AllocationError) {
        precondition(count >= 0, "a buffer cannot have a negative count")
        let (bytes, overflow) = max(count, 1).multipliedReportingOverflow(by: MemoryLayout<Element>.stride)
        guard !overflow, bytes < 1 << 46 else { throw AllocationError(bytes: Int.max) }
        let page = 4096
        let length = (bytes + page - 1) / page * page
        var template = Array("\(folder)/buffer-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw AllocationError(bytes: bytes, system: errno) }
        defer { close(descriptor) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unlink(template)
        let code = posix_fallocate(descriptor, 0, off_t(length))
        guard code == 0 else { throw AllocationError(bytes: bytes, system: code) }
        let address = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        guard let address, address != MAP_FAILED else { throw AllocationError(bytes: bytes, system: errno) }
        self.base = address.bindMemory(to: Element.self, capacity: max(count, 1))
        self.count = count
        self.mappedBytes = length
        isInFile = true
    }

    private init(emptyAt base: UnsafeMutablePointer<Element>) {
        self.base = base
        count = 0
        mappedBytes = 0
        isInFile = false
    }

    /// A buffer of nothing: what stays behind where a buffer was moved out.
    public static var empty: VoxelBuffer<Element> {
        VoxelBuffer(emptyAt: UnsafeMutablePointer(bitPattern: MemoryLayout<Element>.alignment)!)
    }

    deinit {
        if mappedBytes > 0 { munmap(base, mappedBytes) }
    }

    /// Resident bytes once every page was touched.
    public var byteCount: Int { mappedBytes }

    public func withSpan<R, E: Error>(_ body: (Span<Element>) throws(E) -> R) throws(E) -> R {
        try body(UnsafeBufferPointer(start: base, count: count).span)
    }

    public mutating func withMutableSpan<R, E: Error>(_ body: (inout MutableSpan<Element>) throws(E) -> R) throws(E)
        -> R
    {
        var span = UnsafeMutableBufferPointer(start: base, count: count).mutableSpan
        return try body(&span)
    }

    /// For the C boundary and for hot loops, where a bounds check would stop vectorisation.
    @inlinable
    public func withUnsafeBufferPointer<R, E: Error>(
        _ body: (UnsafeBufferPointer<Element>) throws(E) -> R
    ) throws(E) -> R {
        try body(UnsafeBufferPointer(start: base, count: count))
    }

    /// For the C boundary, for hot loops, and for parallel writes to disjoint parts.
    @inlinable
    public mutating func withUnsafeMutableBufferPointer<R, E: Error>(
        _ body: (UnsafeMutableBufferPointer<Element>) throws(E) -> R
    ) throws(E) -> R {
        try body(UnsafeMutableBufferPointer(start: base, count: count))
    }

    @inlinable
    public subscript(index: Int) -> Element {
        get {
            precondition(index >= 0 && index < count, "voxel index out of range")
            return base[index]
        }
        set {
            precondition(index >= 0 && index < count, "voxel index out of range")
            base[index] = newValue
        }
    }

    /// Gives the pages back to the system while keeping the (now zero) buffer.
    public mutating func clear() {
        guard mappedBytes > 0 else { return }
        if isInFile { memset(base, 0, mappedBytes) } else { _ = madvise(base, mappedBytes, MADV_DONTNEED) }
    }

    /// Takes the pages of a buffer in a file out of the process; their content stays, and comes back when it is touched.
    /// Nothing happens to a buffer in memory.
    public borrowing func releasePages() {
        if isInFile { _ = madvise(base, mappedBytes, MADV_DONTNEED) }
    }

    /// The same memory, shared and read-only from now on.
    public consuming func frozen() -> FrozenVoxels<Element> { FrozenVoxels(self) }
}

/// Voxels that nobody can change any more: cheap to hand to several stages. The memory goes with the last reference.
public final class FrozenVoxels<Element: BitwiseCopyable & Sendable>: Sendable {
    @usableFromInline let buffer: VoxelBuffer<Element>

    public init(_ buffer: consuming VoxelBuffer<Element>) { self.buffer = buffer }

    /// A copy of an ordinary array: for tests and for small things.
    public convenience init(_ elements: [Element]) throws(AllocationError) {
        var buffer = try VoxelBuffer<Element>(count: elements.count)
        for index in elements.indices { buffer[index] = elements[index] }
        self.init(buffer)
    }

    /// A copy that can be changed.
    public func mutableCopy() throws(AllocationError) -> VoxelBuffer<Element> {
        var copy = try VoxelBuffer<Element>(count: count)
        copy.withUnsafeMutableBufferPointer { target in
            buffer.withUnsafeBufferPointer { source in
                if let from = source.baseAddress { target.baseAddress!.update(from: from, count: source.count) }
            }
        }
        return copy
    }

    public var count: Int { buffer.count }
    public var byteCount: Int { buffer.byteCount }

    @inlinable
    public subscript(index: Int) -> Element { buffer[index] }

    public func withSpan<R, E: Error>(_ body: (Span<Element>) throws(E) -> R) throws(E) -> R {
        try buffer.withSpan(body)
    }

    @inlinable
    public func withUnsafeBufferPointer<R, E: Error>(
        _ body: (UnsafeBufferPointer<Element>) throws(E) -> R
    ) throws(E) -> R {
        try buffer.withUnsafeBufferPointer(body)
    }
}
