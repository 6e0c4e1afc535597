/// A pointer that crosses into the bodies of a parallel loop.
struct SharedPointer<Element>: @unchecked Sendable {
    // Unchecked: the owner keeps the memory alive around the loop, and bodies write to disjoint elements.
    let base: UnsafeMutablePointer<Element>
}

/// Label voxels that are only read inside a parallel loop.
struct VoxelReader<Element>: @unchecked Sendable {
    // Unchecked: nobody writes while the loop runs.
    let base: UnsafePointer<Element>
}
