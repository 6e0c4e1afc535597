import NocturneSystem

/// A pointer that crosses into the bodies of a parallel loop.
///
/// Nothing here protects the memory; the loop that shares it does. Its owner keeps the memory alive until the loop
/// returns (``ComputeScope/forEach(_:_:)`` returns when the last body has), and bodies write to disjoint elements and
/// read none that another one writes. Never let it outlive the closure that lent the pointer.
package struct SharedPointer<Element>: @unchecked Sendable {
    // Unchecked: the owner keeps the memory alive around the loop, and bodies write to disjoint elements.
    package let base: UnsafeMutablePointer<Element>

    @inlinable
    package init(base: UnsafeMutablePointer<Element>) { self.base = base }
}

/// Values that are only read inside a parallel loop.
///
/// Nothing here protects the memory; the loop that shares it does. Its owner keeps the memory alive until the loop
/// returns (``ComputeScope/forEach(_:_:)`` returns when the last body has), and nobody writes to it before. Never let
/// it outlive the closure that lent the pointer.
package struct SharedReader<Element>: @unchecked Sendable {
    // Unchecked: the owner keeps the memory alive around the loop, and nobody writes while it runs.
    package let base: UnsafePointer<Element>

    @inlinable
    package init(base: UnsafePointer<Element>) { self.base = base }
}
