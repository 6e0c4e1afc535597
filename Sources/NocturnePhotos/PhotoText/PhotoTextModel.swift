import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturnePostprocess
package import NocturneRecipeSupport
import NocturneSystem

/// A package that reads text, with its networks in memory.
package final class PhotoTextModel: Sendable {
    /// The package that the networks come from, and the engine that runs them.
    package let chosen: ChosenModel
    /// The checked section of the package.
    let settings: Settings
    private let detection: any LoadedNetwork
    private let recognition: any LoadedNetwork
    /// By class, from class 1.
    private let characters: [String]

    /// The largest file of characters: all that Unicode has take less.
    private static let largestCharacterFile = 4 << 20

    /// Loads the networks and checks that their inputs and outputs match the package.
    /// - Throws: ``UnusablePackageError``, `ModelFormatError`, `ModelPackageError`.
    package init(_ chosen: ChosenModel) throws {
        self.chosen = chosen
        settings = try Settings(chosen.package)
        characters = try Self.characters(of: chosen, settings.recognition.characters)
        detection = try chosen.load(settings.detection.network)
        recognition = try chosen.load(settings.recognition.network)
        for network in [detection, recognition] where network.inputs.count != 1 || network.outputs.isEmpty {
            throw chosen.unusable(
                "a network has \(network.inputs.count) inputs and \(network.outputs.count) outputs, not one of each"
            )
        }
        let map = try detection.outputShape(inputShape: usualDetectionShape)
        guard map == [1, 1] + usualDetectionShape[2...] else {
            throw chosen.unusable("the network that finds lines returns \(map) for an input of \(usualDetectionShape)")
        }
        let steps = try recognition.outputShape(inputShape: usualRecognitionShape)
        guard steps.count == 3, steps[0] == 1, steps[2] == characters.count + 1 else {
            throw chosen.unusable(
                "the network that reads lines returns \(steps) for an input of \(usualRecognitionShape); expected "
                    + "[1, steps, \(characters.count + 1)], the characters and the blank"
            )
        }
    }

    private static func characters(of chosen: ChosenModel, _ file: String) throws -> [String] {
        let package = chosen.package
        func fault(_ detail: String) -> UnusablePackageError { chosen.unusable("\(file): \(detail)") }
        let size = package.files.first { $0.path == file }?.bytes ?? 0
        guard size <= largestCharacterFile else {
            throw fault("\(size) bytes; at most \(largestCharacterFile) are read")
        }
        let bytes = try FileSystem.read(package.path(of: file))
        guard let text = String(validating: bytes, as: UTF8.self) else { throw fault("is not in UTF-8") }
        var lines = text.withoutByteOrderMark.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.last?.isEmpty ?? false { lines.removeLast() }
        let isUsable = lines.allSatisfy { line in
            !line.isEmpty && line.utf8.count <= 64
                && line.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        }
        guard !lines.isEmpty, isUsable else { throw fault("expected a character on each line") }
        return lines
    }

    // MARK: Shapes and memory

    private var usualDetectionShape: [Int] {
        let side = settings.detection.longSide
        return detectionShape(width: side, height: side)
    }

    private var usualRecognitionShape: [Int] { recognitionShape(width: settings.recognition.widthMultiple) }

    /// The networks with the inputs of the largest picture and a short line.
    package var networkInputs: [NetworkInputs] {
        [
            NetworkInputs(file: settings.detection.network, shape: usualDetectionShape),
            NetworkInputs(file: settings.recognition.network, shape: usualRecognitionShape),
        ]
    }

    /// The largest number of pictures that are read at the same time: each takes the memory of a session.
    private static let mostLanes = 4

    /// How many pictures are read at the same time, each with one thread. The networks are small: two threads read a picture
    /// hardly faster than one. An engine that manages its own memory and threads reads one at a time.
    func lanes(threads: Int) -> Int {
        detection.sharesMemory && recognition.sharesMemory ? min(max(threads, 1), Self.mostLanes) : 1
    }

    /// Weights, and the workspace for the largest input of each picture that is read at the same time.
    ///
    /// Inputs have many shapes. A network keeps the plans of a few of them, each with packed weights, so three are planned. A
    /// session may have another one.
    func residentBytes(threads: Int) throws -> Int {
        let side = settings.detection.longSide
        let lanes = lanes(threads: threads)
        let width = lanes == 1 ? threads : 1
        let (longest, step) = (settings.recognition.maximumWidth, settings.recognition.widthMultiple)
        let pictures = [(side / 2, side), (side, side / 2), (side, side)].map {
            detectionShape(width: $0.0, height: $0.1)
        }
        let lines = [step, min(2 * step, longest), longest].map { recognitionShape(width: $0) }
        func largest(_ network: any LoadedNetwork, _ shapes: [[Int]]) throws -> Int {
            try shapes.map { try network.workspaceBytes(inputShape: $0, width: width) }.max() ?? 0
        }
        // Sessions share the memory for activations.
        let workspace = try max(largest(detection, pictures), largest(recognition, lines))
        let plans = (lanes - 1) * (detection.packedBytesOfPlan + recognition.packedBytesOfPlan)
        return lanes * workspace + detection.weightBytes + recognition.weightBytes + plans
    }

    /// Inputs and outputs of the networks at the same time.
    func itemBytes(threads: Int) -> Int {
        let side = settings.detection.longSide
        // The network divides the width by 8 or more.
        let steps = settings.recognition.maximumWidth / 8 + 1
        let line = 12 * settings.recognition.height * settings.recognition.maximumWidth
        return lanes(threads: threads)
            * max(2 * (12 + 4) * side * side, 2 * (line + 4 * steps * (characters.count + 1)))
    }

    /// What runs the networks from now on.
    var enginesInUse: [EngineInUse] {
        [detection, recognition].map(chosen.engineInUse)
    }

    /// The extents of a picture in the network that finds lines: not larger than it is, at most ``PhotoTextModel/Settings/Detection/longSide``,
    /// and multiples, as PaddleOCR's DetResizeForTest rounds them.
    private func detectionShape(width: Int, height: Int) -> [Int] {
        let input = settings.detection
        let scale = min(1, Double(input.longSide) / Double(max(width, height)))
        let extents = [height, width].map { length in
            let multiples = (Double(Int(Double(length) * scale)) / Double(input.multiple)).rounded(.toNearestOrEven)
            return max(Int(multiples), 1) * input.multiple
        }
        return [1, 3] + extents
    }

    private func recognitionShape(width: Int) -> [Int] { [1, 3, settings.recognition.height, width] }

    // MARK: Running

    /// The lines in a picture, in pixels of the picture, whose centres are whole numbers.
    /// - Throws: `NetworkOutputError` for outputs that are not finite; `CancelledError`, `ModelFormatError`, `AllocationError`.
    func regions(in image: RGBImage, _ sessions: PhotoSessions, _ scope: ComputeScope) throws -> [[SIMD2<Double>]] {
        let shape = detectionShape(width: image.width, height: image.height)
        let (height, width) = (shape[2], shape[3])
        let resized = try BilinearResize.resize(image, width: width, height: height, flag: scope.flag)
        let values = settings.detection.colors.planes(of: resized, width: width, height: height)
        let map = try run(detection, "detection", Tensor(shape: shape, values: values), sessions, scope)
        let rules = settings.detection.rules
        let found = try TextRegion.find(in: map.values, width: width, height: height, rules: rules, flag: scope.flag)
        let scale = SIMD2(Double(image.width) / Double(width), Double(image.height) / Double(height))
        let last = SIMD2(Double(image.width - 1), Double(image.height - 1))
        return found.map { region in
            region.corners.map { ($0 * scale).rounded(.toNearestOrEven).clamped(lowerBound: .zero, upperBound: last) }
        }
    }

    /// The text in a picture of one line, and its confidence, 0...1.
    /// - Throws: as ``regions(in:_:_:)``.
    func text(of line: RGBImage, _ sessions: PhotoSessions, _ scope: ComputeScope) throws -> (text: String, Float) {
        let input = settings.recognition
        let wanted = Int((Double(input.height * line.width) / Double(line.height)).rounded(.up))
        let width = min(max(wanted, 1), input.maximumWidth)
        let padded = (width + input.widthMultiple - 1) / input.widthMultiple * input.widthMultiple
        let resized = try BilinearResize.resize(line, width: width, height: input.height, flag: scope.flag)
        let values = input.colors.planes(of: resized, width: padded, height: input.height)
        let tensor = Tensor(shape: recognitionShape(width: padded), values: values)
        let output = try run(recognition, "recognition", tensor, sessions, scope)
        let decoded = try CTCDecoding(output.values, classCount: characters.count + 1)
        return (decoded.classes.map { characters[$0 - 1] }.joined(), decoded.confidence)
    }

    private func run(
        _ network: any LoadedNetwork,
        _ role: String,
        _ input: Tensor,
        _ sessions: PhotoSessions,
        _ scope: ComputeScope
    ) throws -> Tensor {
        let name = network.inputs[0].name
        let session = try sessions.session(of: "\(chosen.package.id)/\(role)", shape: input.shape, width: scope.width) {
            try network.makeSession(inputShapes: [name: input.shape], width: scope.width, memory: $0)
        }
        let outputs = try session.run([name: input], scope: scope)
        guard let output = network.outputs.first.flatMap({ outputs[$0.name] }) else {
            throw NetworkOutputError(detail: "the network has no output")
        }
        return output
    }
}
