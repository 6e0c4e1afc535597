/// What Nocturne reads from outside, each as a function of bytes.
///
/// `Tools/fuzz/fuzz.py` drives them with libFuzzer, and the tests with every file of `Tests/Fixtures/Fuzz`. A reader may
/// throw any error; it must not crash, hang, or take memory that the input does not justify.
public enum FuzzTarget: String, CaseIterable, Sendable {
    case nifti
    case niftiGzip = "nifti-gzip"
    case nrrd
    case metaImage = "metaimage"
    case stl
    case mesh
    case onnx
    case model
    case jpeg
    case png
    case tiff
    case heic
    case webp
    case dicom
    case dicomPhoto = "dicom-photo"
    case segmentation
    case structures
    case regions
    case radiomics
    case table
    case sidecar
    case records
    case words

    /// Reads the bytes as a run would.
    /// - Returns: false for what never got to a reader: nothing to learn from.
    @discardableResult
    public func run(_ bytes: UnsafeRawBufferPointer) -> Bool {
        switch self {
        case .nifti: FuzzVolumes.volume(bytes, name: "input.nii")
        case .niftiGzip: FuzzVolumes.volume(bytes, name: "input.nii.gz")
        case .nrrd: FuzzVolumes.nrrd(bytes)
        case .metaImage: FuzzVolumes.volume(bytes, name: "input.mha")
        case .stl: FuzzVolumes.stl(bytes)
        case .mesh: FuzzVolumes.mesh(bytes)
        case .onnx: FuzzModels.network(bytes)
        case .model: FuzzModels.package(bytes)
        case .jpeg: FuzzPhotos.jpeg(bytes)
        case .png: FuzzPhotos.png(bytes)
        case .tiff: FuzzPhotos.tiff(bytes)
        case .heic: FuzzPhotos.heic(bytes)
        case .webp: FuzzPhotos.webp(bytes)
        case .dicom: FuzzDICOM.series(bytes)
        case .dicomPhoto: FuzzPhotos.dicom(bytes)
        case .segmentation: FuzzDICOM.segmentation(bytes)
        case .structures: FuzzDICOM.structures(bytes)
        case .regions: FuzzTexts.regions(bytes)
        case .radiomics: FuzzTexts.radiomics(bytes)
        case .table: FuzzTexts.table(bytes)
        case .sidecar: FuzzTexts.sidecar(bytes)
        case .records: FuzzTexts.records(bytes)
        case .words: FuzzTexts.words(bytes)
        }
    }
}
