import NocturneConcurrency
import NocturneCore
package import NocturneInference
import NocturnePostprocess
package import NocturneRecipeSupport

/// A package for instance segmentation of photos, with its network in memory.
package final class PhotoInstancesModel: PhotoModel {
    /// The package, the engine, and the precision.
    package let chosen: ChosenModel
    /// The checked section of the package.
    package let settings: Settings
    private let network: any LoadedNetwork

    /// Loads the network and checks that its inputs and outputs match the package.
    /// - Throws: ``UnusablePackageError``, `ModelFormatError`.
    package init(_ chosen: ChosenModel) throws {
        try chosen.package.require(task: PhotoInstances.task, for: "instance segmentation of photos")
        self.chosen = chosen
        settings = try Settings(chosen.package)
        network = try chosen.load(settings.network)
        try check()
    }

    private func check() throws {
        guard network.inputs.count == 1 else {
            throw chosen.unusable("the network has \(network.inputs.count) inputs, not one")
        }
        let shape = inputShape(frame(width: settings.input.longSide, height: settings.input.longSide))
        let outputs = try network.outputShapes(inputShapes: [network.inputs[0].name: shape])
        switch settings.output {
        case .maps(let splitting):
            let expected = [1, splitting.mapCount] + shape[2...]
            guard let first = network.outputs.first, outputs[first.name] == expected else {
                let found = network.outputs.first.flatMap { outputs[$0.name] } ?? []
                throw chosen.unusable("the network returns \(found) for an input of \(shape); expected \(expected)")
            }
            if splitting.activation == .sigmoid,
                let fault = network.activationFault(
                    of: first.name,
                    in: settings.network,
                    applied: .sigmoid,
                    setting: "output.activation to none"
                )
            {
                throw chosen.unusable(fault)
            }
        case .prototypes(let candidates, let prototypes, _):
            for name in [candidates, prototypes] where outputs[name] == nil {
                throw chosen.unusable("there is no output \(name)")
            }
            let (rows, planes) = (outputs[candidates] ?? [], outputs[prototypes] ?? [])
            guard rows.count == 3, planes.count == 4, rows[1] == 4 + settings.classes.count + planes[1] else {
                throw chosen.unusable(
                    "candidates \(rows) and prototypes \(planes) do not match \(settings.classes.count) classes; "
                        + "expected [1, 4 + classes + coefficients, n] and [1, coefficients, y, x]"
                )
            }
        case .masks(let boxes, let scores, let classes, let masks, _, _):
            for name in [boxes, scores, classes, masks] where outputs[name] == nil {
                throw chosen.unusable("there is no output \(name)")
            }
        }
    }

    // MARK: Shapes

    /// The letterbox of a photo of that size in the network's input.
    func frame(width: Int, height: Int) -> Letterbox {
        let input = settings.input
        let scale = Double(input.longSide) / Double(max(width, height))
        func scaled(_ length: Int) -> Int { min(max(Int((Double(length) * scale).rounded()), 1), input.longSide) }
        func filled(_ length: Int) -> Int { (length + input.multiple - 1) / input.multiple * input.multiple }
        let (columns, rows) = (scaled(width), scaled(height))
        let inputWidth = input.isSquare ? input.longSide : filled(columns)
        let inputHeight = input.isSquare ? input.longSide : filled(rows)
        let isCentred = input.placement == .centre
        return Letterbox(
            width: width,
            height: height,
            content: PixelBox(
                x: isCentred ? (inputWidth - columns) / 2 : 0,
                y: isCentred ? (inputHeight - rows) / 2 : 0,
                width: columns,
                height: rows
            ),
            inputWidth: inputWidth,
            inputHeight: inputHeight
        )
    }

    /// Batch, colours, rows, columns.
    func inputShape(_ frame: Letterbox) -> [Int] { [1, 3, frame.inputHeight, frame.inputWidth] }

    /// The network's input shape for a photo of 4 : 3.
    package var usualInputShape: [Int] {
        inputShape(frame(width: settings.input.longSide, height: settings.input.longSide * 3 / 4))
    }

    /// As the package states it, in pixels.
    package var minimumSide: Int { settings.input.minimumSide }

    /// The only one.
    package var networks: [any LoadedNetwork] { [network] }

    /// Weights, and a workspace for a square photo, the largest input.
    package func residentBytes(threads: Int) throws -> Int {
        let largest = inputShape(frame(width: settings.input.longSide, height: settings.input.longSide))
        return network.weightBytes + (try network.workspaceBytes(inputShape: largest, width: threads))
    }

    /// By how the network scales with its usual input.
    package func threadsOfProcess(cores: Int) throws -> Int {
        try network.threadScaling(inputShape: usualInputShape)?.threadsOfProcess(cores: cores) ?? cores
    }

    // MARK: Running

    /// What runs the network from now on.
    var engineInUse: EngineInUse { chosen.engineInUse(network) }

    /// Runs the network and returns all outputs by name.
    /// - Throws: `CancelledError`, `ModelFormatError`, `AllocationError`.
    func run(_ input: Tensor, in sessions: PhotoSessions, scope: ComputeScope) throws -> [String: Tensor] {
        let name = network.inputs[0].name
        let session = try sessions.session(of: package.id, shape: input.shape, width: scope.width) {
            try network.makeSession(inputShapes: [name: input.shape], width: scope.width, memory: $0)
        }
        return try session.run([name: input], scope: scope)
    }

    /// The name of the first output.
    var firstOutput: String { network.outputs.first?.name ?? "" }
}
