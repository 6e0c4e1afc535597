public import NocturneConcurrency
import NocturneSystem

/// Runs the same patch with every engine and precision, and compares the results with the builtin engine's exact
/// arithmetic.
public enum EngineComparison {
    /// One engine with one precision.
    public struct Row: Sendable, Codable {
        /// Its name.
        public var engine: String
        /// The one that was asked for.
        public var precision: InferencePrecision
        /// What the kernels or the library used, with the version of the library.
        public var instructionSet: String
        /// Largest difference from the reference, divided by the reference's largest value.
        public var maximumRelativeDifference: Double
        /// Root mean square of the differences, divided by that of the reference.
        public var rmsRelativeDifference: Double
        /// Percentage of voxels whose largest class is that of the reference.
        public var agreementPercent: Double
        /// Median of the timed runs.
        public var secondsPerPatch: Double
        /// The reference's seconds divided by these: above 1 is faster.
        public var speedRatio: Double
        /// Size of weights and workspace.
        public var bytes: Int
        /// Largest difference from the values that another library computed when the package was made, divided by the largest of
        /// these; nil where none are recorded.
        public var recordedRelativeDifference: Double?
    }

    /// A configuration that could not be run, and the reason.
    public struct Unavailable: Sendable, Codable {
        /// Its name.
        public var engine: String
        /// Nil if the engine is not available at all.
        public var precision: InferencePrecision?
        /// The error as text.
        public var reason: String
    }

    /// What was measured for one network.
    public struct Report: Sendable, Codable {
        /// The path of the ONNX file, or its name in a package.
        public var network: String
        /// Of the first input (N, C, …).
        public var inputShape: [Int]
        /// Of the outputs, in the network's order. The first is compared.
        public var outputs: [String]
        /// That shared each run.
        public var threads: Int
        /// The library, with its version, whose values the package records for this network; nil without any.
        public var recordedLibrary: String?
        /// The first is the reference: the builtin engine's `exact`, or the first engine that runs if the builtin
        /// engine lacks an operator.
        public var rows: [Row]
        /// What did not run.
        public var absent: [Unavailable]

        /// The message for a first row that differs from the recorded values by more than rounding explains; nil for one that does not.
        public var fault: String? {
            guard let library = recordedLibrary, let row = rows.first, let difference = row.recordedRelativeDifference,
                !(difference <= RecordedOutput.limit)
            else { return nil }
            return
                "\(network): \(row.engine) differs by \(difference) of the largest value from what \(library) computed when "
                + "the package was made; rounding explains \(RecordedOutput.limit). Do not use the results of this package. "
                + "Next step: import it again; if it still differs, report it with the output of nocturne doctor"
        }
    }

    /// Runs a network on a smooth random field with noise (from a fixed seed, with about the value range of a
    /// normalised scan), once to warm up and then `repeats` times with timing. Where the package records what another library
    /// computed, the results are compared with it, too.
    ///
    /// Memory: one session at a time, and two outputs.
    /// - Parameters:
    ///   - shape: of the first input (N, C, …), if none is recorded.
    ///   - others: shapes of other inputs by name; they get values of the same kind.
    ///   - environment: the configuration of both engines; see ``BuiltinEngine/init(environment:)`` and
    ///     ``ONNXRuntimeEngine/init(environment:)``.
    /// - Throws: `CancelledError`; ``ModelFormatError`` when no engine runs the network, one computes values that are NaN or
    ///   infinite, or its record cannot be used.
    public static func run(
        onnx path: String,
        shape: [Int],
        others: [String: [Int]] = [:],
        repeats: Int = 3,
        environment: [String: String],
        scope: ComputeScope
    ) throws -> Report {
        let (usable, missing) = engines(environment)
        var absent = missing
        let recorded = try RecordedOutput.read(for: path)
        let shape = recorded?.input ?? shape
        let patch = smoothPatch(shape)
        let more = others.mapValues { Tensor(shape: $0, values: smoothPatch($0)) }
        var reference: (values: [Float], shape: [Int], seconds: Double)?
        var (rows, outputs, firstError): ([Row], [String], (any Error)?) = ([], [], nil)
        // The registry starts with the builtin engine, and the precisions with `exact`: the first row is the reference.
        for engine in usable {
            for precision in InferencePrecision.allCases where engine.distinguishesExact || precision != .exact {
                do {
                    let network = try engine.load(onnx: path, precision: precision)
                    let result = try timed(network, patch, shape, more, max(repeats, 1), scope)
                    guard result.values.allSatisfy(\.isFinite) else { throw ModelFormatError.notFinite(network: path) }
                    outputs = network.outputs.map(\.name)
                    let base = reference ?? (result.values, result.shape, result.seconds)
                    reference = base
                    let difference = Tensor.relativeDifferences(result.values, base.values)
                    rows.append(
                        Row(
                            engine: engine.name,
                            precision: precision,
                            instructionSet: network.instructionSet,
                            maximumRelativeDifference: difference.maximum,
                            rmsRelativeDifference: difference.rms,
                            agreementPercent: 100 * agreement(result.values, base.values, shape: base.shape),
                            secondsPerPatch: result.seconds,
                            speedRatio: base.seconds / max(result.seconds, 1e-9),
                            bytes: result.bytes,
                            recordedRelativeDifference: recorded?.difference(from: result.values)
                        )
                    )
                } catch let error where endsComparison(error) {
                    throw error
                } catch {
                    firstError = firstError ?? error
                    absent.append(Unavailable(engine: engine.name, precision: precision, reason: "\(error)"))
                }
            }
        }
        if rows.isEmpty, let firstError { throw firstError }
        return Report(
            network: path,
            inputShape: shape,
            outputs: outputs,
            threads: scope.width,
            recordedLibrary: recorded?.library,
            rows: rows,
            absent: absent
        )
    }

    /// Whether an error ends the comparison. Otherwise the configuration that fails is reported in its place, and the others run.
    private static func endsComparison(_ error: any Error) -> Bool {
        if case ModelFormatError.notFinite = error { return true }
        return error is CancelledError
    }

    /// The engines that work here, and why others do not.
    private static func engines(_ environment: [String: String]) -> ([any InferenceEngine], [Unavailable]) {
        var engines: [any InferenceEngine] = []
        var absent: [Unavailable] = []
        for kind in InferenceEngines.all.kinds {
            do {
                engines.append(try kind.make(environment))
            } catch {
                absent.append(Unavailable(engine: kind.name, precision: nil, reason: "\(error)"))
            }
        }
        return (engines, absent)
    }

    /// Runs a network once to warm up, then `repeats` times.
    /// - Returns: the values and shape of the first output, the median of the seconds, and the bytes of weights and workspace.
    private static func timed(
        _ network: any LoadedNetwork,
        _ patch: [Float],
        _ shape: [Int],
        _ others: [String: Tensor],
        _ repeats: Int,
        _ scope: ComputeScope
    ) throws -> (values: [Float], shape: [Int], seconds: Double, bytes: Int) {
        guard let first = network.inputs.first(where: { others[$0.name] == nil })?.name,
            let outputName = network.outputs.first?.name
        else { throw ModelFormatError.shapeMismatch(network: "", reason: "it has no input left, or no output") }
        let shapes = others.mapValues(\.shape).merging([first: shape]) { $1 }
        let outputShape = try network.outputShapes(inputShapes: shapes)[outputName] ?? []
        let session = try network.makeSession(inputShapes: shapes, width: scope.width)
        let inputs = others.merging([first: Tensor(shape: shape, values: patch)]) { $1 }
        let isPlain = network.inputs.count == 1 && network.outputs.count == 1
        var values = [Float](repeating: 0, count: outputShape.reduce(1, *))
        var seconds: [Double] = []
        // The first run includes the time for allocating memory pages.
        for _ in 0...repeats {
            let begin = scope.time.monotonic
            guard isPlain else {
                values = try session.run(inputs, scope: scope)[outputName]?.values ?? []
                seconds.append((scope.time.monotonic - begin).inSeconds)
                continue
            }
            try patch.withUnsafeBufferPointer { input in
                try values.withUnsafeMutableBufferPointer { output in
                    try session.run(input: input, output: output, scope: scope)
                }
            }
            seconds.append((scope.time.monotonic - begin).inSeconds)
        }
        let sorted = seconds.dropFirst().sorted()
        return (values, outputShape, sorted[sorted.count / 2], network.weightBytes + session.workspaceBytes)
    }

    /// The fraction of positions whose largest class (axis 1, the lower one on a tie) is the same.
    static func agreement(_ found: [Float], _ expected: [Float], shape: [Int]) -> Double {
        // Without an axis of classes, as in an attention map, only signs can be compared.
        guard shape.count == 2 || shape.count > 3, shape[1] > 1 else {
            return found == expected ? 1 : signAgreement(found, expected)
        }
        let places = shape.dropFirst(2).reduce(1, *)
        var same = 0
        for batch in 0..<shape[0] {
            for place in 0..<places {
                let start = batch * shape[1] * places + place
                func largest(_ values: [Float]) -> Int {
                    var best = 0
                    for channel in 1..<shape[1] where values[start + channel * places] > values[start + best * places] {
                        best = channel
                    }
                    return best
                }
                if largest(found) == largest(expected) { same += 1 }
            }
        }
        return Double(same) / Double(max(places * shape[0], 1))
    }

    /// For a single class: compares whether values are above zero.
    private static func signAgreement(_ found: [Float], _ expected: [Float]) -> Double {
        let same = zip(found, expected).reduce(0) { $0 + (($1.0 > 0) == ($1.1 > 0) ? 1 : 0) }
        return Double(same) / Double(max(expected.count, 1))
    }

    /// Values with mean 0 and a deviation of about 1: three quarters waves of a few to some tens of voxels, one quarter
    /// noise.
    package static func smoothPatch(_ shape: [Int]) -> [Float] {
        let spatial = Array(shape.dropFirst(2))
        let count = shape.reduce(1, *)
        var values = [Float](repeating: 0, count: count)
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        func strides(_ axis: Int) -> Int { spatial[(axis + 1)...].reduce(1, *) }
        for index in 0..<count {
            // Knuth's generator MMIX; the 24 highest bits as a number from -1 to 1.
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            var value = (Float(state >> 40) / 8_388_608 - 1) * 0.4
            for axis in spatial.indices {
                let position = Float(index / strides(axis) % spatial[axis])
                // Triangle waves, whose arithmetic is the same on every machine.
                let phase = (position / Float(7 + 6 * axis) + Float(axis) * 0.3).truncatingRemainder(dividingBy: 1)
                value += 4 * abs(phase - 0.5) - 1
            }
            values[index] = value
        }
        return values
    }
}
