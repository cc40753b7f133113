from django.http import JsonResponse

from books.models import Book


def index(request):
    before = request.GET.get("before", "9999")
    if not before.isdecimal():
        return JsonResponse({"error": "before takes a year"}, status=400)
    books = Book.objects.filter(year__lt=int(before)).order_by("year")
    return JsonResponse({"books": list(books.values("title", "year"))})
