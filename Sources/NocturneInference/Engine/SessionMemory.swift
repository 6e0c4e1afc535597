internal import NocturneCore

/// Memory for the activations of sessions that never run at the same time: the networks of an ensemble need what the
/// largest of them needs, not the sum.
public final class SessionMemory {
    var workspace = VoxelBuffer<UInt8>.empty
    var scratch = VoxelBuffer<UInt8>.empty

    public init() {}

    var byteCount: Int { workspace.byteCount + scratch.byteCount }

    /// Grows to at least these bytes. Nothing in it outlives a run, so that nothing is kept.
    func reserve(workspace workspaceBytes: Int, scratch scratchBytes: Int) throws(AllocationError) {
        if workspace.count < workspaceBytes {
            workspace = .empty
            workspace = try VoxelBuffer(count: workspaceBytes)
        }
        if scratch.count < scratchBytes {
            scratch = .empty
            scratch = try VoxelBuffer(count: scratchBytes)
        }
    }
}
