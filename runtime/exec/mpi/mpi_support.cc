#include "runtime/exec/mpi/mpi_support.h"

#include <string>

namespace reshard {
Status MpiStatus(int code, std::string_view call) {
  if (code == MPI_SUCCESS) return Status();
  char text[MPI_MAX_ERROR_STRING] = "";
  int text_chars = 0;
  if (MPI_Error_string(code, text, &text_chars) != MPI_SUCCESS) text_chars = 0;
  return Status(StatusCode::kIoError, std::string(call) + ": " +
                                          std::string(text, static_cast<size_t>(text_chars)) +
                                          " (" + std::to_string(code) + ")");
}

StatusOr<bool> TestRequest(MPI_Request* request, std::string_view call) {
  int done = 0;
  MPI_Status ignored;
  const int code = MPI_Test(request, &done, &ignored);
  if (code != MPI_SUCCESS) return MpiStatus(code, call);
  return done != 0;
}

void AbandonRequest(MPI_Request* request) {
  if (*request == MPI_REQUEST_NULL) return;
  // The results do not matter: the request is out of use either way.
  (void)MPI_Cancel(request);
  (void)MPI_Request_free(request);
}

}  // namespace reshard
