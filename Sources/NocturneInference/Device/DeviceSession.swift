package import NocturneConcurrency

/// A network whose sessions can keep their tensors on a device.
package protocol DeviceNetwork: LoadedNetwork {
    /// A session for a network with one input.
    /// - Parameters:
    ///   - inputShape: its extents (N, C, …).
    ///   - width: number of threads for runs on the processor.
    /// - Returns: nil where tensors cannot be kept there, or have no place now.
    /// - Throws: errors of the network.
    func makeDeviceSession(inputShape: [Int], width: Int) throws -> (any DeviceSession)?
}

/// A network bound to a shape, with its first input and first output on a device. Runs are made by one thread at a time;
/// ``onDevice(_:)`` can be called on another one meanwhile.
package protocol DeviceSession: AnyObject {
    /// Where the tensors are.
    var device: TileDevice { get }
    /// In the network's order, float32.
    var input: DeviceMemory { get }
    /// In the network's order, float32: values of the last run.
    var output: DeviceMemory { get }

    /// Runs the network on ``input``, which kernels have written.
    /// - Parameter input: writes the same values as the processor computes them: called when a run is checked.
    /// - Returns: whether all values of the output are finite.
    /// - Throws: `CancelledError`; ``DeviceFault``, after which the device is not used.
    func run(_ scope: ComputeScope, input: (UnsafeMutableBufferPointer<Float>) throws -> Void) throws -> Bool

    /// Calls `body`, which uses the device.
    /// - Throws: ``DeviceFault`` for an error of the device, which is not used afterwards.
    func onDevice<R>(_ body: () throws(EngineError) -> R) throws -> R
}
