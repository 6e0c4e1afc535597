import Glibc
public import NocturneSystem

/// The system could not map the memory for a buffer.
public struct AllocationError: SystemCallError, CodedError, CustomStringConvertible {
    /// The size that was requested.
    public let bytes: Int
    /// The system's error number if the file of a file-backed buffer could not be created; nil if there was no memory.
    public let systemCode: Int32?

    init(bytes: Int, system code: Int32? = nil) {
        self.bytes = bytes
        systemCode = code
    }

    /// Always `noMemory`, also if the file of a file-backed buffer could not be created.
    public var faultCode: FaultCode { .noMemory }
    /// With the size that was asked for, and the system's message for a file.
    public var description: String {
        guard let systemCode else { return "no memory for a buffer of \(bytes) bytes" }
        return "no file for a buffer of \(bytes) bytes: \(String(cString: strerror(systemCode)))"
    }
}

/// A contiguous array of elements with one owner, for volumes and other large arrays. Initially zero.
///
/// Large buffers are mapped and unmapped (with huge pages advised), because the heap keeps freed memory: this way the
/// resident memory falls as soon as a buffer is freed. Small ones are on the heap: with several threads, unmapping costs more
/// than they hold. The type guarantees a single writer: the buffer cannot be
/// copied. ``frozen()`` turns it into a shared, immutable ``FrozenVoxels``.
///
/// ```swift
/// var buffer = try VoxelBuffer<Float>(count: shape.count)
/// buffer[shape.offset(i, j, k)] = 1
/// let volume = Volume(geometry: geometry, voxels: buffer.frozen())
/// ```
public struct VoxelBuffer<Element: BitwiseCopyable & Sendable>: ~Copyable, @unchecked Sendable {
    // Unchecked: only this value owns the pointer, and it cannot be copied.
    @usableFromInline let base: UnsafeMutablePointer<Element>
    /// The number of elements.
    public let count: Int
    private let storedBytes: Int
    private let storage: Storage

    /// Where the memory comes from.
    private enum Storage {
        case heap
        case mapping
        /// A mapped file without a name.
        case file

        // 128 KiB.
        static var smallestMapping: Int { 1 << 17 }

        /// Zeroes, at an address that is a multiple of 64; nil when the system refuses. Not for files.
        func allocate(_ length: Int) -> UnsafeMutableRawPointer? {
            guard self == .heap else {
                let address = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                guard let address, address != MAP_FAILED else { return nil }
                // From 4 MiB, two huge pages of 2 MiB: below, a huge page would mostly be unused.
                if length >= 1 << 22 { _ = madvise(address, length, 14 /* MADV_HUGEPAGE */) }
                return address
            }
            guard let address = aligned_alloc(64, length) else { return nil }
            memset(address, 0, length)
            return address
        }
    }

    /// The bytes of `count` elements, and the length of the whole pages that hold them.
    private static func sizes(_ count: Int) throws(AllocationError) -> (bytes: Int, length: Int) {
        precondition(count >= 0, "a buffer cannot have a negative count")
        let (bytes, overflow) = max(count, 1).multipliedReportingOverflow(by: MemoryLayout<Element>.stride)
        // 2⁴⁶ bytes are 64 TiB, below the 2⁴⁷ of a process's addresses.
        guard !overflow, bytes < 1 << 46 else { throw AllocationError(bytes: Int.max) }
        let page = 4096
        return (bytes, (bytes + page - 1) / page * page)
    }

    /// - Throws: ``AllocationError`` when the system refuses.
    /// - Complexity: O(1); the kernel allocates pages when they are first accessed.
    public init(count: Int) throws(AllocationError) {
        let (bytes, length) = try Self.sizes(count)
        if FaultPoint.allocation.failure() != nil { throw AllocationError(bytes: bytes) }
        let storage: Storage = length < Storage.smallestMapping ? .heap : .mapping
        guard let address = storage.allocate(length) else { throw AllocationError(bytes: bytes) }
        self.base = address.bindMemory(to: Element.self, capacity: max(count, 1))
        self.count = count
        self.storage = storage
        storedBytes = length
    }

    /// A buffer backed by an unnamed file, so that the system can write its pages to disk and reclaim the memory.
    ///
    /// The disk space is reserved at once: a full disk causes an error here, not a signal later. Resident pages can be
    /// released with ``releasePages()``. No file remains, however the process ends.
    /// - Parameter folder: an existing folder on the file system that should hold the bytes.
    /// - Throws: ``AllocationError`` when the system refuses.
    /// - Complexity: reads and writes are as fast as the page cache, or as the disk where the cache is too small.
    public init(count: Int, inFileIn folder: String) throws(AllocationError) {
        let (bytes, length) = try Self.sizes(count)
        var template = Array("\(folder)/buffer-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw AllocationError(bytes: bytes, system: errno) }
        defer { close(descriptor) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        // The file has no name from here on: the system frees it with the last mapping, also when the process is killed.
        FileSystem.remove(String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
        let code = posix_fallocate(descriptor, 0, off_t(length))
        guard code == 0 else { throw AllocationError(bytes: bytes, system: code) }
        let address = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
        guard let address, address != MAP_FAILED else { throw AllocationError(bytes: bytes, system: errno) }
        self.base = address.bindMemory(to: Element.self, capacity: max(count, 1))
        self.count = count
        storedBytes = length
        storage = .file
    }

    private init(emptyAt base: UnsafeMutablePointer<Element>) {
        self.base = base
        count = 0
        storedBytes = 0
        storage = .mapping
    }

    /// An empty buffer, left in place of a buffer that was moved out.
    public static var empty: VoxelBuffer<Element> {
        VoxelBuffer(emptyAt: UnsafeMutablePointer(bitPattern: MemoryLayout<Element>.alignment)!)
    }

    deinit {
        guard storedBytes > 0 else { return }
        switch storage {
        case .heap: free(base)
        case .mapping, .file: munmap(base, storedBytes)
        }
    }

    /// Resident bytes once every page has been accessed.
    public var byteCount: Int { storedBytes }

    /// Lends the elements for reading. The span cannot leave `body`, and accesses through it are checked.
    public func withSpan<R, E: Error>(_ body: (Span<Element>) throws(E) -> R) throws(E) -> R {
        try body(UnsafeBufferPointer(start: base, count: count).span)
    }

    /// For C calls and for hot loops, where a bounds check would prevent vectorisation.
    @inlinable
    public func withUnsafeBufferPointer<R, E: Error>(
        _ body: (UnsafeBufferPointer<Element>) throws(E) -> R
    ) throws(E) -> R {
        try body(UnsafeBufferPointer(start: base, count: count))
    }

    /// For C calls, for hot loops, and for parallel writes to disjoint parts.
    @inlinable
    public mutating func withUnsafeMutableBufferPointer<R, E: Error>(
        _ body: (UnsafeMutableBufferPointer<Element>) throws(E) -> R
    ) throws(E) -> R {
        try body(UnsafeMutableBufferPointer(start: base, count: count))
    }

    /// The element at an index, which is checked. In inner loops take a span once instead.
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

    /// Returns the pages to the system and keeps the (now zero) buffer.
    public mutating func clear() {
        guard storedBytes > 0 else { return }
        switch storage {
        case .heap, .file: memset(base, 0, storedBytes)
        // Anonymous pages are zero when they are touched again (`madvise(2)`).
        case .mapping: _ = madvise(base, storedBytes, MADV_DONTNEED)
        }
    }

    /// Removes the pages of a file-backed buffer from the process; the content stays in the file and is loaded again on
    /// access. Does nothing for a buffer in memory.
    public borrowing func releasePages() {
        if storage == .file { _ = madvise(base, storedBytes, MADV_DONTNEED) }
    }

    /// The same memory, shared and read-only from now on.
    public consuming func frozen() -> FrozenVoxels<Element> { FrozenVoxels(self) }
}

/// Immutable voxels: cheap to share between stages. The memory is freed with the last reference.
public final class FrozenVoxels<Element: BitwiseCopyable & Sendable>: Sendable {
    // Unchecked: changed by ``thawed()`` alone, when nobody else reads. Checks of exclusive access would slow every read.
    @exclusivity(unchecked) @usableFromInline nonisolated(unsafe) var buffer: VoxelBuffer<Element>

    /// Takes the memory over without a copy; the buffer ends here.
    public init(_ buffer: consuming VoxelBuffer<Element>) { self.buffer = buffer }

    /// A copy of an ordinary array: for tests and for small arrays.
    public convenience init(_ elements: [Element]) throws(AllocationError) {
        var buffer = try VoxelBuffer<Element>(count: elements.count)
        for index in elements.indices { buffer[index] = elements[index] }
        self.init(buffer)
    }

    /// The memory for its last user to change, without a copy. These voxels are none from then on: nobody else may read them.
    public func thawed() -> VoxelBuffer<Element> {
        var taken = VoxelBuffer<Element>.empty
        swap(&taken, &buffer)
        return taken
    }

    /// A mutable copy.
    public func mutableCopy() throws(AllocationError) -> VoxelBuffer<Element> {
        var copy = try VoxelBuffer<Element>(count: count)
        copy.withUnsafeMutableBufferPointer { target in
            buffer.withUnsafeBufferPointer { source in
                if let from = source.baseAddress { target.baseAddress!.update(from: from, count: source.count) }
            }
        }
        return copy
    }

    /// The number of elements.
    public var count: Int { buffer.count }
    /// The memory in bytes, as counted in a budget.
    public var byteCount: Int { buffer.byteCount }

    /// The element at an index, which is checked.
    @inlinable
    public subscript(index: Int) -> Element { buffer[index] }

    /// Lends the elements for reading. The span cannot leave `body`.
    public func withSpan<R, E: Error>(_ body: (Span<Element>) throws(E) -> R) throws(E) -> R {
        try buffer.withSpan(body)
    }

    /// Lends the elements for C functions. The pointer must not leave `body`.
    @inlinable
    public func withUnsafeBufferPointer<R, E: Error>(
        _ body: (UnsafeBufferPointer<Element>) throws(E) -> R
    ) throws(E) -> R {
        try buffer.withUnsafeBufferPointer(body)
    }
}

/// Voxels with their position in the patient.
public struct VoxelVolume<Voxel: BitwiseCopyable & Sendable>: Sendable {
    /// Where the voxels are in the patient.
    public let geometry: VolumeGeometry
    /// In the order of ``VolumeShape``: x fastest.
    public let voxels: FrozenVoxels<Voxel>

    /// Traps unless there is one voxel for each place of the shape.
    public init(geometry: VolumeGeometry, voxels: FrozenVoxels<Voxel>) {
        precondition(geometry.shape.count == voxels.count, "voxels do not fill the shape")
        self.geometry = geometry
        self.voxels = voxels
    }
}

/// A scalar image in float32 (Hounsfield units for CT after rescaling).
public typealias Volume = VoxelVolume<Float>

/// A label map: 0 is background, any other value is a label of the model package.
public typealias LabelVolume = VoxelVolume<UInt16>
