internal import NocturneCore

/// Memory for the activations of sessions that never run at the same time: the networks of an ensemble need as much as
/// the largest of them, not the sum.
public final class SessionMemory {
    var workspace = VoxelBuffer<UInt8>.empty
    var scratch = VoxelBuffer<UInt8>.empty

    public init() {}

    var byteCount: Int { workspace.byteCount + scratch.byteCount }

    /// Grows to at least these sizes. The content is only used within a run, so it is not preserved.
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
