internal import CONNXRuntime
internal import CTileKernels
internal import NocturneConcurrency
import NocturneSystem

extension ONNXRuntimeNetwork {
    /// A network as loaded by ONNX Runtime for a device and a number of threads.
    final class Handle: @unchecked Sendable {
        // Unchecked: ONNX Runtime's sessions may be used from any thread.
        let pointer: OpaquePointer
        let path: String
        let library: ONNXRuntimeLibrary

        /// - Throws: ``ModelFormatError/malformed(path:reason:)`` with ONNX Runtime's reason: damage, or unsupported operators.
        init(_ library: ONNXRuntimeLibrary, path: String, cuda: Int?, threads: Int) throws(ModelFormatError) {
            var message = MessageBuffer()
            let found = message.fill { conort_load(library.table, path, Int32(cuda ?? -1), Int32(threads), $0, $1) }
            guard let found else { throw Self.malformed(library, path, message) }
            pointer = found
            self.path = path
            self.library = library
        }

        deinit { conort_free_network(pointer) }

        func ports(ofOutputs: Int32) throws(ModelFormatError) -> [TensorDescription] {
            var descriptions: [TensorDescription] = []
            for index in 0..<conort_port_count(pointer, ofOutputs) {
                var port = conort_port()
                var message = MessageBuffer()
                guard message.fill({ conort_describe(pointer, ofOutputs, index, &port, $0, $1) }) == 0 else {
                    throw Self.malformed(library, path, message)
                }
                let name = withUnsafeBytes(of: port.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
                guard port.is_float32 != 0 else {
                    throw .malformed(path: path, reason: "'\(name)' is not float32; other types are not supported")
                }
                // -1 is an open extent. An unknown number of axes and zero axes are both reported as [].
                let shape = withUnsafeBytes(of: port.extents) { extents in
                    extents.bindMemory(to: Int64.self).prefix(Int(max(port.rank, 0))).map { $0 < 0 ? nil : Int($0) }
                }
                descriptions.append(TensorDescription(name: name, shape: shape))
            }
            return descriptions
        }

        private static func malformed(
            _ library: ONNXRuntimeLibrary,
            _ path: String,
            _ message: MessageBuffer
        ) -> ModelFormatError {
            .malformed(path: path, reason: "ONNX Runtime \(library.version): \(EngineError.condensed(message.text))")
        }
    }

    /// Buffers and the thread of one session. Used by one owner at a time.
    final class Run: NetworkRunner, @unchecked Sendable {
        // Unchecked: owned by a plan until a session takes it.
        /// Nil on a device.
        let width: Int?
        /// As the plan measured them.
        var workspaceBytes = 0
        private let pointer: OpaquePointer
        private let handle: Handle
        private let tiles: TileDevice?
        /// Set for a run that did not end: what it uses is never freed.
        private var isStuck = false

        /// Binds the network to shapes, and runs it once.
        /// - Parameters:
        ///   - tiles: the device, which is abandoned when a run does not end.
        ///   - isResident: whether the buffers are in its memory, and not in that of the processor.
        /// - Throws: ``EngineError``
        init(
            _ handle: Handle,
            inputs: [TensorPort],
            width: Int?,
            tiles: TileDevice?,
            isResident: Bool = false
        ) throws(EngineError) {
            var message = MessageBuffer()
            let ranks = inputs.map { Int32($0.shape.count) }
            let extents = inputs.flatMap(\.shape).map(Int64.init)
            var (functions, isStuck): (tile_device, Int32) = (tiles?.functions ?? tile_device(), 0)
            let found = withUnsafePointer(to: &functions) { functions in
                let functions = isResident ? functions : nil
                return message.fill { conort_bind(handle.pointer, ranks, extents, functions, &isStuck, $0, $1) }
            }
            guard let found else {
                let shapes = inputs.map { "\($0.name) \($0.shape)" }.joined(separator: ", ")
                if isStuck != 0 {
                    _ = Unmanaged.passRetained(handle)
                    tiles?.abandon()
                }
                let (step, reason) = ("run it with \(shapes)", EngineError.condensed(message.text))
                throw EngineError.failed(handle.path, step, reason, isStuck != 0 ? .unresponsive : .failed)
            }
            pointer = found
            self.handle = handle
            self.width = width
            self.tiles = tiles
        }

        deinit {
            if isStuck { _ = Unmanaged.passRetained(handle) }
            conort_free_run(pointer)
        }

        func outputShape(_ index: Int) -> [Int] {
            (0..<max(conort_output_rank(pointer, index), 0)).map { Int(conort_output_extent(pointer, index, $0)) }
        }

        /// Copies through the buffers of the run: page-locked ones, which a device reads and writes at the rate of the bus, and
        /// which a device that answers too late may still write to.
        func run(
            _ inputs: [UnsafeBufferPointer<Float>],
            _ outputs: [UnsafeMutableBufferPointer<Float>],
            scope: ComputeScope
        ) throws {
            for (index, values) in inputs.enumerated() {
                try Self.copy(values.baseAddress, to: conort_buffer(pointer, 0, index), count: values.count, scope)
            }
            try compute(scope)
            for (index, values) in outputs.enumerated() {
                let found = UnsafePointer(conort_buffer(pointer, 1, index))
                try Self.copy(found, to: values.baseAddress, count: values.count, scope)
            }
        }

        /// The memory of the first input or output.
        /// - Parameter shape: its extents.
        func memory(ofOutput: Bool, shape: [Int]) -> DeviceMemory? {
            let bytes = shape.reduce(MemoryLayout<Float>.stride, *)
            return conort_buffer(pointer, ofOutput ? 1 : 0, 0).map { address in
                // The memory is the run's.
                DeviceMemory(UnsafeMutableRawPointer(address), byteCount: bytes) { [self] _ in
                    withExtendedLifetime(self) {}
                }
            }
        }

        /// Runs the network on the buffers, and looks at the scope's flag every 20 ms. A run on a device that takes longer than
        /// its limit is left alone.
        func compute(_ scope: ComputeScope) throws {
            let limit = width == nil ? Duration.seconds(Int(TILE_DEVICE_SECONDS)) : nil
            var message = MessageBuffer()
            guard conort_start(pointer) == 0 else { throw failed("start a run", "the last one has not ended") }
            let start = scope.time.monotonic
            defer { if width == nil { scope.device?.add(running: scope.time.monotonic - start) } }
            var wasCancelled = false
            while true {
                let state = message.fill { conort_wait(pointer, 20, $0, $1) }
                if state <= 0 {
                    if wasCancelled { throw CancelledError() }
                    if state == 0 { return }
                    throw failed("run it", EngineError.condensed(message.text))
                }
                if !wasCancelled, scope.flag.isCancelled {
                    // The buffers are in use until it has stopped, after the current operator.
                    conort_cancel(pointer)
                    wasCancelled = true
                }
                if let limit, scope.time.monotonic - start > limit {
                    isStuck = true
                    tiles?.abandon()
                    throw failed("run it", "no result after \(limit)")
                }
            }
        }

        private func failed(_ step: String, _ message: String) -> EngineError {
            EngineError.failed(handle.path, step, message)
        }

        private static func copy(
            _ from: UnsafePointer<Float>?,
            to target: UnsafeMutablePointer<Float>?,
            count: Int,
            _ scope: ComputeScope
        ) throws {
            guard let from, let target else { return }
            // Every range is written by one body only.
            nonisolated(unsafe) let (source, destination) = (from, target)
            try scope.forEachRange(of: count, by: 1 << 20) { range in
                (destination + range.lowerBound).update(from: source + range.lowerBound, count: range.count)
            }
        }
    }

    /// A session whose tensors stay on the device.
    final class Resident: DeviceSession {
        let device: TileDevice
        let input: DeviceMemory
        let output: DeviceMemory
        private let run: Run
        private let counter: NonFiniteCounter

        /// - Parameter input: the extents of the only input.
        init?(_ run: Run, input: [Int], on device: TileDevice) throws(EngineError) {
            guard let input = run.memory(ofOutput: false, shape: input),
                let output = run.memory(ofOutput: true, shape: run.outputShape(0))
            else { return nil }
            self.run = run
            self.device = device
            self.input = input
            self.output = output
            counter = try NonFiniteCounter(on: device)
        }

        func run(_ scope: ComputeScope, input: (UnsafeMutableBufferPointer<Float>) throws -> Void) throws -> Bool {
            try run.compute(scope)
            return try counter.count(output, count: output.floats) == 0
        }

        func onDevice<R>(_ body: () throws(EngineError) -> R) throws -> R { try body() }
    }
}
