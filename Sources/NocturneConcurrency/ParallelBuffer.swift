public import NocturneCore
package import NocturneSystem

/// Memory that the bodies of one parallel loop write to: the only way in which loops write in parallel.
///
/// Its safety depends on the loop that shares the buffer. Every use follows three rules: the owner keeps the memory
/// allocated until the loop returns (``ComputeScope/forEach(_:_:)`` returns after its last body), every element is
/// written by at most one body, and no body reads what another one writes. Create it with `withParallelBuffer` around
/// the loop; never store it.
@usableFromInline
package struct ParallelBuffer<Element: ~Copyable>: @unchecked Sendable {
    // Unchecked: see the three rules above.
    /// The first element. Reading or writing through it is subject to the three rules.
    @usableFromInline
    package let base: UnsafeMutablePointer<Element>

    /// Use `withParallelBuffer` instead, which keeps the memory allocated.
    @inlinable
    package init(_ base: UnsafeMutablePointer<Element>) { self.base = base }
}

extension ParallelBuffer {
    /// The element at an index, which is not checked.
    @inlinable
    package subscript(index: Int) -> Element {
        get { base[index] }
        nonmutating _modify { yield &base[index] }
    }

    /// The part that begins at `offset`.
    @inlinable
    package static func + (buffer: ParallelBuffer, offset: Int) -> UnsafeMutablePointer<Element> {
        buffer.base + offset
    }
}

/// Values that the bodies of one parallel loop only read. The owner keeps them allocated and unchanged until it
/// returns.
@usableFromInline
package struct ParallelReader<Element>: @unchecked Sendable {
    // Unchecked: nothing writes while the loop runs.
    /// The first element.
    @usableFromInline
    package let base: UnsafePointer<Element>

    /// Use `withParallelReader` instead, which keeps the memory allocated.
    @inlinable
    package init(_ base: UnsafePointer<Element>) { self.base = base }

    /// The element at an index, which is not checked.
    @inlinable
    package subscript(index: Int) -> Element { base[index] }

    /// The part that begins at `offset`.
    @inlinable
    package static func + (reader: ParallelReader, offset: Int) -> UnsafePointer<Element> { reader.base + offset }
}

/// A C library structure of numbers and pointers that the bodies of a parallel loop read.
@usableFromInline
package struct ParallelValue<Value>: @unchecked Sendable {
    // Unchecked: the owner of the loop keeps the memory behind its pointers allocated and unchanged.
    /// The structure; pointers in it are valid until the loop returns.
    @usableFromInline
    package let value: Value

    /// The caller keeps what `value` points to allocated and unchanged until the loop returns.
    @inlinable
    package init(_ value: Value) { self.value = value }
}

extension Array {
    /// Lends the array's elements to a parallel loop that writes to them. For an empty array the address must not be
    /// used.
    @inlinable
    package mutating func withParallelBuffer<R, E: Error>(
        _ body: (ParallelBuffer<Element>) throws(E) -> R
    ) throws(E) -> R {
        try withUnsafeMutableBufferPointer { buffer throws(E) in
            try body(ParallelBuffer(buffer.baseAddress ?? noElements()))
        }
    }

    /// Lends the array's elements to a parallel loop that reads them.
    @inlinable
    package func withParallelReader<R, E: Error>(_ body: (ParallelReader<Element>) throws(E) -> R) throws(E) -> R {
        try withUnsafeBufferPointer { buffer throws(E) in
            try body(ParallelReader(buffer.baseAddress ?? UnsafePointer(noElements())))
        }
    }
}

/// An aligned address to use for an empty array.
@usableFromInline
package func noElements<Element>() -> UnsafeMutablePointer<Element> {
    UnsafeMutableRawPointer(bitPattern: MemoryLayout<Element>.alignment).unsafelyUnwrapped
        .assumingMemoryBound(to: Element.self)
}

extension ComputeScope {
    /// The results of `body` for every index below `count`, in order, computed on this thread and on idle ones.
    ///
    /// The flag is checked before every index, as in ``forEach(_:_:)``.
    /// - Throws: ``CancelledError`` once the flag is raised.
    package func map<Result>(_ count: Int, _ body: @Sendable (Int) -> Result) throws(CancelledError) -> [Result] {
        var results = [Result?](repeating: nil, count: max(count, 0))
        try results.withParallelBuffer { results throws(CancelledError) in
            try forEach(count) { results[$0] = body($0) }
        }
        // Every index was visited, or `forEach` has thrown.
        return results.compactMap { $0 }
    }

    /// The results for ranges of at most `stride` that together cover `0..<count`, in order. The ranges do not depend on threads.
    /// - Throws: ``CancelledError`` once the flag is raised.
    package func mapRanges<Result>(
        of count: Int,
        by stride: Int,
        _ body: @Sendable (Range<Int>) -> Result
    ) throws(CancelledError) -> [Result] {
        let step = max(stride, 1)
        return try map((max(count, 0) + step - 1) / step) { body($0 * step..<min(count, ($0 + 1) * step)) }
    }
}

extension VoxelBuffer {
    /// Lends the voxels to a parallel loop that writes to them.
    @inlinable
    package mutating func withParallelBuffer<R, E: Error>(
        _ body: (ParallelBuffer<Element>) throws(E) -> R
    ) throws(E) -> R {
        try withUnsafeMutableBufferPointer { buffer throws(E) in
            try body(ParallelBuffer(buffer.baseAddress ?? noElements()))
        }
    }

    /// Lends the voxels to a parallel loop that reads them.
    @inlinable
    package func withParallelReader<R, E: Error>(_ body: (ParallelReader<Element>) throws(E) -> R) throws(E) -> R {
        try withUnsafeBufferPointer { buffer throws(E) in
            try body(ParallelReader(buffer.baseAddress ?? UnsafePointer(noElements())))
        }
    }
}

extension FrozenVoxels {
    /// Lends the voxels to a parallel loop that reads them.
    @inlinable
    package func withParallelReader<R, E: Error>(_ body: (ParallelReader<Element>) throws(E) -> R) throws(E) -> R {
        try withUnsafeBufferPointer { buffer throws(E) in
            try body(ParallelReader(buffer.baseAddress ?? UnsafePointer(noElements())))
        }
    }
}
